import type { TextFrame } from '../../../app/calls/text/types.ts'
import type { Cost } from '../../../domain/pricing/cost.ts'
import { costMember, tellingAtTheEnd, withCost } from '../../../api/kit/cost.ts'
import { oneLine, type StreamDialect } from '../../../api/kit/event-stream.ts'
import { v1betaFailureBody } from './envelope.ts'

/** The beginning of an object of figures that is not empty; inside a text its quotes would be escaped. */
const figures = /"usageMetadata"\s*:\s*\{(?=\s*")/g

/**
 * A frame whose figures have a member `cost`: clients of this wire hand on the figures whole and drop
 * other members. Of a frame without figures, or with the word in other places, it is a member itself.
 */
function withCostInUsage(data: string, cost: Cost | undefined): string {
  if (cost === undefined) return data
  if (data.match(figures)?.length !== 1) return withCost(data, cost)
  return data.replace(figures, (begun) => `${begun}"cost":${JSON.stringify(costMember(cost))},`)
}

/** `data:` lines alone and no `[DONE]`: clients of this wire parse every frame. */
export function nativeDialect(): StreamDialect<TextFrame> {
  return {
    ...tellingAtTheEnd(({ data }, cost) =>
      data === '[DONE]' ? undefined : `data: ${oneLine(withCostInUsage(data, cost))}\n\n`,
    ),
    failure: (error) => `data: ${JSON.stringify(v1betaFailureBody(error))}\n\n`,
    end: '',
  }
}
