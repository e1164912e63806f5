import { membersGiven } from '../../../kernel/json.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import {
  inMembersOfCaller,
  type SimpleVideo,
  type SimpleVideoRules,
} from '../../../domain/catalog/simple-video.ts'
import { resolveVideoBModel } from './models.ts'
import { acceptVideoBRequest, type MediaItem } from './request.ts'

/** Translates orders of any family to `/provB` video. */

/** The defaults; this family lets upstream choose neither. */
const DEFAULT_SECONDS = 5
const DEFAULT_RATIO = '16:9'

const NAMES: Readonly<Record<string, string>> = { content: 'prompt', duration: 'seconds' }

function nameOf(param: string): string | undefined {
  if (param.startsWith('content[0]')) return 'prompt'
  return param.startsWith('content[') ? 'input_reference' : NAMES[param]
}

function bodyOf(order: SimpleVideo): Readonly<Record<string, unknown>> {
  const { model: name, prompt, seconds = DEFAULT_SECONDS, references } = order
  const model = resolveVideoBModel(name)
  const resolution = model?.resolutions.find(
    (known) => known.toLowerCase() === order.resolution?.toLowerCase(),
  )
  // A model without references uses the picture as the first frame.
  const roleOf = (kind: string): string =>
    kind === 'image' && model?.takesReferences === false ? 'first_frame' : `reference_${kind}`
  const ratio = order.ratio ?? (references.length === 0 ? DEFAULT_RATIO : undefined)
  return membersGiven({
    model: name,
    content: [
      { type: 'text', text: prompt },
      ...references.map(({ kind, url }) => ({
        type: `${kind}_url`,
        role: roleOf(kind),
        [`${kind}_url`]: { url },
      })),
    ],
    duration: seconds,
    resolution: resolution ?? order.resolution,
    ratio,
  })
}

/** Uploaded files are at one account, which such a creation cannot choose. */
function urlOf({ locator, param }: MediaItem) {
  return locator.from === 'file'
    ? refuse(param, `\`${param}\` must be a public https:// URL or a data URI`)
    : locator.url
}

export const simpleVideoB: SimpleVideoRules = {
  accept: (order) =>
    inMembersOfCaller(nameOf, () => {
      if (order.generateAudio !== undefined)
        refuse(
          'generate_audio',
          `\`generate_audio\` is not supported by ${order.model}: leave it out`,
        )
      const accepted = acceptVideoBRequest(bodyOf(order))
      const { model, facts } = accepted
      // Refuses media that it cannot name.
      const body = accepted.upstreamBody({ callbackUrl: undefined, urlOf })
      return { model: model.name, facts, upstreamBody: () => body, assets: [] }
    }),
  settings: { seconds: 'duration', resolution: 'resolution', ratio: 'ratio' },
  // A request has all of them.
  defaults: () => ({}),
  links: { video: 'url', picture: undefined },
}
