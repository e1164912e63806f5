import { membersGiven } from '../../../kernel/json.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import {
  inMembersOfCaller,
  type SimpleVideo,
  type SimpleVideoRules,
} from '../../../domain/catalog/simple-video.ts'
import { resolveVideoCModel, type VideoCMode } from './models.ts'
import { acceptVideoCRequest } from './request.ts'

/** Translates orders of any family to `/provC` video: the mode follows from the pictures. */

const NAMES: Readonly<Record<string, string>> = {
  images: 'input_reference',
  duration: 'seconds',
  aspect_ratio: 'ratio',
  audio: 'generate_audio',
}

function nameOf(param: string): string | undefined {
  return NAMES[/^[a-z_]+/.exec(param)?.[0] ?? '']
}

/** One picture is the first frame; several are references. */
function modeFor(images: number): VideoCMode {
  if (images === 0) return 'text2video'
  return images === 1 ? 'img2video' : 'reference2video'
}

function imagesOf({ references }: SimpleVideo): readonly string[] {
  if (references.some(({ kind }) => kind !== 'image'))
    refuse('images', '`images` must be pictures for this model')
  return references.map(({ url }) => url)
}

export const simpleVideoC: SimpleVideoRules = {
  accept: (order) =>
    inMembersOfCaller(nameOf, () => {
      const { model, prompt, seconds, resolution, ratio, generateAudio } = order
      const images = imagesOf(order)
      const mode = modeFor(images.length)
      const body = membersGiven({
        model,
        prompt,
        duration: seconds,
        resolution,
        // The first frame determines the aspect ratio.
        aspect_ratio: mode === 'img2video' ? undefined : ratio,
        audio: generateAudio,
        images: images.length === 0 ? undefined : images,
      })
      const accepted = acceptVideoCRequest(mode, body)
      const upstreamBody = () => accepted.upstreamBody({ callbackUrl: undefined })
      return { model: accepted.model.name, facts: accepted.facts, upstreamBody, assets: [] }
    }),
  settings: { seconds: 'duration', resolution: 'resolution', ratio: 'aspect_ratio' },
  defaults: (name) => {
    const model = resolveVideoCModel(name)
    return model ? { duration: model.defaultDurationS, resolution: model.defaultResolution } : {}
  },
  links: { video: 'url', picture: 'cover_url' },
}
