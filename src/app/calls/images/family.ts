import type { ImageSeen } from '../../../domain/families/image-rules.ts'
import { imageCallRules } from '../../../domain/families/image-rules.ts'
import { imageFamilyOf } from '../../../domain/families/images.ts'
import { invariant } from '../../../kernel/assert.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { ImageAnswer } from '../../ports.ts'
import type { CallFamily, WholeAnswer } from '../family.ts'
import { refusalOf } from '../refusals.ts'
import type { ImageDeps } from './deps.ts'
import type { ReadyImages } from './inputs.ts'
import { deliver } from './results.ts'
import type { ImageCallInput } from './types.ts'

/** An order whose pictures can be had. */
export interface PicturedCall extends ImageCallInput {
  /** Gets them when it is first asked. */
  readonly ready: (signal: AbortSignal) => Promise<ReadyImages>
}

/** Images on the road of every call. */
export type ImageCallFamily = CallFamily<PicturedCall, PicturedCall['ready'], ImageSeen, JsonObject>

export function createImageFamily(
  deps: Pick<ImageDeps, 'providers' | 'keepImage' | 'clock'>,
): ImageCallFamily {
  return {
    resolve: ({ family, model, request, ready }, serving) => {
      const { count, facts } = request
      const largest = Math.max(...serving.map((one) => one.largestImageCounts?.[model] ?? 1))
      if (count > largest)
        throw new DomainError('n_not_supported', `\`n\` must be at most ${largest} with ${model}`, {
          param: 'n',
        })
      const rules = imageFamilyOf(model)
      invariant(rules, `the order was read by its family: ${model}`)
      const priced = imageCallRules(rules)
      return {
        request: ready,
        wish: { family, model, imageCount: count },
        expectedTokens: () => priced.expectedTokens({ model, facts }),
        price: (book) => priced.price({ model, facts }, book),
      }
    },
    prepare: async (ready, { signal }) => void (await ready(signal)),
    ask: async (input, channel, ready, options) => {
      const provider = deps.providers.get(input.family)
      invariant(provider, `every family of images has a provider: ${input.family}`)
      const upstreamModel = channel.models[input.model] ?? input.model
      const images = await ready(options.signal)
      const answer = await provider.make(channel, { ...images, upstreamModel }, options)
      return wholeAnswer(deps, input, answer)
    },
    refusal: (error, callId) =>
      error.kind === 'invalid' && error.code === 'content_policy_violation'
        ? new DomainError('content_policy_violation', error.message, { callId })
        : refusalOf(error, callId),
  }
}

function wholeAnswer(
  deps: Pick<ImageDeps, 'keepImage' | 'clock'>,
  input: ImageCallInput,
  answer: ImageAnswer,
): WholeAnswer<ImageSeen, JsonObject> {
  const { upstreamRequestId, restMs, seen, failure } = answer
  const head = { upstreamRequestId, restMs, seen }
  const nowS = Math.floor(deps.clock.nowMs() / 1_000)
  const body = () => deliver(deps, input, answer, nowS)
  if (failure === undefined) return { ...head, failed: undefined, body }
  const { code, message, isBilled } = failure
  const details = isBilled ? { usage: answer.shown['usage'] } : {}
  const refusal = new DomainError(code, message, details)
  return { ...head, failed: isBilled ? undefined : code, refusal, body }
}
