import type { FastifyRequest } from 'fastify'
import type { FamilyKit } from '../family.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'
import { proxyPage } from '../http/wire.ts'
import { randomHex } from '../kit/clock.ts'
import { partOfFile, signedFile, signUrl } from '../media/files.ts'
import { mp4OfSeconds, pictureOf } from '../media/pictures.ts'
import { mp3Of } from '../media/sound.ts'
import type { TaskState } from '../tasks/record.ts'
import { SERVICE } from './signature.ts'
import {
  type AssetRecord,
  assetState,
  type AssetType,
  type GroupRecord,
  stampOf,
  statusOf,
} from './store.ts'

/** The only version of the interface. */
export const VERSION = '2024-01-01'

/** By prefix of the dotted code; whatever is not listed is a 400. */
const CODES_OF_STATUS: Readonly<Record<number, string>> = {
  401: 'InvalidAccessKey SignatureDoesNotMatch InvalidSecretToken',
  403: 'AccessDenied InvalidAction',
  404: 'ServiceNotFound InvalidActionOrVersion ResourceNotFound NotFound',
  429: 'FlowLimitExceeded',
  500: 'InternalError InternalServiceError',
  503: 'ServiceUnavailableTemp',
  504: 'InternalServiceTimeout',
}

function statusFor(code: string): number {
  const [prefix = ''] = code.split('.')
  const fits = ([, codes]: readonly [string, string]): boolean => codes.split(' ').includes(prefix)
  return Number(Object.entries(CODES_OF_STATUS).find(fits)?.[0] ?? 400)
}

const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'InvalidParameter',
  401: 'SignatureDoesNotMatch',
  403: 'AccessDenied',
  404: 'InvalidActionOrVersion',
  429: 'FlowLimitExceeded',
  500: 'InternalError',
}

type Named = Readonly<Record<'action' | 'version' | 'region', string>>

/** How one request is answered: every envelope repeats its action and version. */
export class Envelope {
  readonly #kit: Pick<FamilyKit, 'random' | 'clock'>
  readonly #named: Named

  constructor(kit: Pick<FamilyKit, 'random' | 'clock'>, named: Named) {
    this.#kit = kit
    this.#named = named
  }

  success(result: object): Answer {
    return { status: 200, body: { ResponseMetadata: this.#metadata(), Result: result } }
  }

  /** An error with its own status, or, under `envelope-200`, with the one of a success. */
  error(code: string, message: string, faults: Faults): Answer {
    const error = { Code: code, Message: message, CodeN: 0 }
    return {
      status: isOn(faults, 'envelope-200') ? 200 : statusFor(code),
      body: { ResponseMetadata: { ...this.#metadata(), Error: error } },
    }
  }

  /** A bare status: the envelope where the service itself speaks, else a proxy's page. */
  failure(status: number, faults: Faults): Answer {
    const code = CODE_OF_STATUS[status]
    if (code === undefined) return proxyPage(status)
    return this.error(code, `The request failed: ${code}.`, faults)
  }

  #metadata(): object {
    const { action, version, region } = this.#named
    const { random, clock } = this.#kit
    return {
      RequestId: `${stampOf(clock.nowMs())}${randomHex(random, 16).toUpperCase()}`,
      Action: action,
      Version: version,
      Service: SERVICE,
      Region: region,
    }
  }
}

/** Path under which the files of assets are served. */
export const MEDIA_PATH = '/media/assets'
/** As long as the shortest video and sound a library takes, seconds. */
const SECONDS = 2
/** As large as the smallest picture it takes, pixels. */
const SIDE = 300

async function bytesOf(type: AssetType): Promise<readonly [bytes: Buffer, contentType: string]> {
  switch (type) {
    case 'Image':
      return [await pictureOf(SIDE, SIDE, 'png'), 'image/png']
    case 'Video':
      return [mp4OfSeconds(SECONDS), 'video/mp4']
    case 'Audio': {
      const sound = { durationMs: SECONDS * 1_000, sampleRate: 32_000, channels: 1 }
      return [mp3Of({ ...sound, bitrate: 64_000 }), 'audio/mpeg']
    }
  }
}

/** The file of an active asset. Its signed URL is the only right that a reader needs. */
export function mediaAnswer(
  kit: Pick<FamilyKit, 'clock' | 'assets'>,
  request: FastifyRequest,
): Promise<Answer> {
  return signedFile(kit, request, MEDIA_PATH, async (id) => {
    const asset = kit.assets.asset(id)
    const state = asset && assetState(asset, kit.clock.nowMs())
    if (asset === null || !state?.visible || statusOf(state) !== 'Active') return null
    return partOfFile(...(await bytesOf(asset.assetType)), request.headers.range)
  })
}

/** Life of an asset's URL, in seconds. */
const URL_SECONDS = 600

/** The reason of a failed asset for which none was given. */
const UNSAID = 'TranscodingFailed'

/** As this wire writes times. */
function timeOf(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`
}

/** An asset as it stands. */
export function assetShape(
  asset: AssetRecord,
  state: TaskState,
  kit: Pick<FamilyKit, 'baseUrl' | 'options' | 'clock'>,
): object {
  const { id, name, assetType, groupId, projectName, plan } = asset
  const status = statusOf(state)
  const code = plan.failCode ?? UNSAID
  const url = (): string => signUrl(kit, `${MEDIA_PATH}/${id}`, kit.clock.nowMs(), URL_SECONDS)
  return {
    Id: id,
    Name: name,
    AssetType: assetType,
    GroupId: groupId,
    Status: state.strange ?? status,
    ...(status === 'Active' ? { URL: url() } : {}),
    // Like real upstreams, it says more than callers of the gateway should see.
    ...(status === 'Failed'
      ? { Error: { Code: code, Message: `The media was refused: ${code}. See ${url()}` } }
      : {}),
    ProjectName: projectName,
    CreateTime: timeOf(asset.acceptedAtMs),
    UpdateTime: timeOf(Math.max(asset.updatedAtMs, state.atMs)),
  }
}

/** A group. */
export function groupShape(group: GroupRecord): object {
  return {
    Id: group.id,
    Name: group.name,
    Description: group.description,
    GroupType: group.groupType,
    ProjectName: group.projectName,
    CreateTime: timeOf(group.acceptedAtMs),
    UpdateTime: timeOf(group.updatedAtMs),
  }
}
