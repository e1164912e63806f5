import type { TextRequest } from '../ports.ts'
import type { AnsweredOtherwise } from '../../../domain/families/call-rules.ts'
import { isSameTier, serviceTierOf } from '../rules/price-members.ts'
import { textOf } from '../../kit/http/fields.ts'

const MAX_NAME_LENGTH = 200
/** How the name of a version goes on from that of its model. */
const VERSION = /^[-@:.](?:v?\d[\w.-]*|latest|preview[\w.-]*|exp[\w.-]*)$/
/** An endpoint of an account: its name says nothing of the model behind it. */
const ENDPOINT = /^ep-/

/** Follows what an answer says of itself, as the last frame that says so has it. */
export interface AnsweredWith {
  readonly note: (said: { readonly model?: unknown; readonly serviceTier?: unknown }) => void
  /** For the tally: empty where it is what was asked for, or nothing was said. */
  readonly otherwise: () => { readonly answeredOtherwise?: AnsweredOtherwise }
}

/** Compares with what upstream is asked for; holds on to nothing else of the request. */
export function answeredWith({ upstreamModel, body }: TextRequest): AnsweredWith {
  const askedTier = serviceTierOf(body)
  let model: string | undefined
  let serviceTier: string | undefined
  return {
    note: (said) => {
      model = textOf(said.model) ?? model
      serviceTier = textOf(said.serviceTier) ?? serviceTier
    },
    otherwise: () => {
      const other: AnsweredOtherwise = {
        ...(model === undefined || isSameModel(upstreamModel, model)
          ? {}
          : { model: model.slice(0, MAX_NAME_LENGTH) }),
        ...(serviceTier === undefined || isSameTier(askedTier, serviceTier)
          ? {}
          : { serviceTier: serviceTier.slice(0, MAX_NAME_LENGTH) }),
      }
      return Object.keys(other).length === 0 ? {} : { answeredOtherwise: other }
    },
  }
}

/** Whether an answer names the model that was asked for, or a version of it. */
function isSameModel(asked: string, answered: string): boolean {
  if (ENDPOINT.test(asked)) return true
  const [one, other] = [nameOf(asked), nameOf(answered)]
  return isVersion(one, other) || isVersion(other, one)
}

function isVersion(name: string, version: string): boolean {
  return version.startsWith(name) && (name === version || VERSION.test(version.slice(name.length)))
}

/** Without the vendor or folder before it, and without `-latest`. */
function nameOf(name: string): string {
  return (name.toLowerCase().split('/').at(-1) ?? '').replace(/-latest$/, '')
}
