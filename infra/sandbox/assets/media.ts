import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { checkSignedUrl, partOfFile, noFile } from '../media/files.ts'
import { mp4OfSeconds } from '../media/mp4.ts'
import { pngOf } from '../media/pictures.ts'
import { mp3Of } from '../media/sound.ts'
import { assetState, type AssetType, statusOf } from './record.ts'

/** Path under which assets can be looked at. */
export const MEDIA_PATH = '/media/assets'
/** As long as the shortest video and sound a library takes, seconds. */
const SECONDS = 2
/** As large as the smallest picture it takes, pixels. */
const SIDE = 300

function bytesOf(type: AssetType): readonly [bytes: Buffer, contentType: string] {
  switch (type) {
    case 'Image':
      return [pngOf(SIDE, SIDE), 'image/png']
    case 'Video':
      return [mp4OfSeconds(SECONDS), 'video/mp4']
    case 'Audio': {
      const sound = { durationMs: SECONDS * 1_000, sampleRate: 32_000, channels: 1 }
      return [mp3Of({ ...sound, bitrate: 64_000 }), 'audio/mpeg']
    }
  }
}

/** An asset to look at, or why not: 403 for a bad or expired URL, 404 for none that is active. */
export function mediaAnswer(
  { clock, assets }: Pick<FamilyKit, 'clock' | 'assets'>,
  id: string,
  query: URLSearchParams,
  range: string | undefined,
): Answer {
  const nowMs = clock.nowMs()
  const refused = checkSignedUrl(`${MEDIA_PATH}/${id}`, query, nowMs)
  if (refused !== null) return noFile(403, refused)
  const asset = assets.asset(id)
  const state = asset && assetState(asset, nowMs)
  if (asset === null || !state?.visible || statusOf(state) !== 'Active')
    return noFile(404, 'NoSuchKey')
  return partOfFile(...bytesOf(asset.assetType), range)
}
