import type { NativeAssetIds } from '../../../domain/catalog/checks/media.ts'
import { membersGiven } from '../../../kernel/json.ts'
import {
  inMembersOfCaller,
  type SimpleVideo,
  type SimpleVideoRules,
} from '../../../domain/catalog/simple-video.ts'
import { defaultVideoAResolution } from './models.ts'
import { acceptVideoARequest } from './request.ts'

/** Translates orders of any family to `/provA` video. */

const NAMES: Readonly<Record<string, string>> = {
  content: 'prompt',
  duration: 'seconds',
}

function nameOf(param: string): string | undefined {
  return param.startsWith('content[') ? 'input_reference' : NAMES[param]
}

function bodyOf(order: SimpleVideo): Readonly<Record<string, unknown>> {
  const { model, prompt, seconds, resolution, ratio, generateAudio, references } = order
  return membersGiven({
    model,
    content: [
      ...(prompt === undefined ? [] : [{ type: 'text', text: prompt }]),
      ...references.map(({ kind, url }) => ({
        type: `${kind}_url`,
        role: `reference_${kind}`,
        [`${kind}_url`]: { url },
      })),
    ],
    // Settings with which upstream renders by default.
    duration: seconds ?? 5,
    resolution,
    ratio,
    generate_audio: generateAudio,
  })
}

export const simpleVideoA: SimpleVideoRules = {
  accept: (order) => {
    const accepted = inMembersOfCaller(nameOf, () => acceptVideoARequest(bodyOf(order)))
    const { model, facts, assets } = accepted
    const upstreamBody = (nativeIds: NativeAssetIds) =>
      accepted.upstreamBody({ callbackUrl: undefined, nativeIds })
    return { model: model.name, facts, upstreamBody, assets }
  },
  settings: { seconds: 'duration', resolution: 'resolution', ratio: 'ratio' },
  defaults: () => ({ resolution: defaultVideoAResolution }),
  links: { video: 'video_url', picture: 'last_frame_url' },
}
