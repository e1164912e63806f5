import { DomainError, isDomainError } from '../../kernel/errors.ts'
import type { AssetReference, UpstreamBody } from './checks/media.ts'
import type { TaskFacts } from '../task/events.ts'

/** An order for a video in the same form for every family, and each family's translation. */

/** A creation that names its family by the model only. Absent members are undefined. */
export interface SimpleVideo {
  /** External name or alias. */
  readonly model: string
  readonly prompt: string | undefined
  /** The length of the video. */
  readonly seconds: number | undefined
  /** The resolution, such as `720p`. */
  readonly resolution: string | undefined
  /** The aspect ratio, such as `16:9`. */
  readonly ratio: string | undefined
  readonly generateAudio: boolean | undefined
  readonly references: readonly VideoReference[]
}

/** A picture, video or audio that a video is based on. */
export interface VideoReference {
  readonly kind: 'image' | 'video' | 'audio'
  /** Web URL, data URI or `asset://<id>`. */
  readonly url: string
}

/** A creation that the rules of its family accepted. */
interface AcceptedVideo {
  /** External name. */
  readonly model: string
  readonly facts: TaskFacts
  readonly upstreamBody: UpstreamBody
  readonly assets: readonly AssetReference[]
}

/** Translates such an order for a family, and its results back. */
export interface SimpleVideoRules {
  /** @throws RequestError in the words of the order: see `inMembersOfCaller` */
  readonly accept: (order: SimpleVideo) => AcceptedVideo
  /** The family's names of these members in settings and actual specs. */
  readonly settings: {
    readonly seconds: string
    readonly resolution: string
    readonly ratio: string
  }
  /**
   * Settings that a model uses if neither the caller nor upstream gives them, by the same names.
   */
  readonly defaults: (model: string) => Readonly<Record<string, string | number>>
  /** The names of its result links: the video, and the picture of it if there may be one. */
  readonly links: { readonly video: string; readonly picture: string | undefined }
}

/**
 * Runs the rules of a family on an order in the family's own words, so that refusals use the
 * caller's words: `nameOf` says which member of the order a member of the family's body came from.
 *
 * @throws RequestError
 */
export function inMembersOfCaller<Accepted>(
  nameOf: (param: string) => string | undefined,
  accept: () => Accepted,
): Accepted {
  try {
    return accept()
  } catch (error) {
    const param = isDomainError(error) ? error.details['param'] : undefined
    if (!isDomainError(error) || typeof param !== 'string') throw error
    const name = nameOf(param)
    if (name === undefined) throw error
    const message = error.message.replaceAll(`\`${param}\``, `\`${name}\``)
    throw new DomainError(error.code, message, { ...error.details, param: name })
  }
}
