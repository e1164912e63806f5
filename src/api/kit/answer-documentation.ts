import { type TSchema, Type } from 'typebox'

/** How answers are described in the OpenAPI description: what they are sent as, and their headers. */

const text = (description: string): TSchema => Type.String({ description })
const count = (description: string): TSchema => Type.Integer({ minimum: 0, description })

const headers = {
  'x-request-id': text('Our id of the request; quote it to support.'),
  'x-call-id': text('Id of the call: `source_id` of its ledger lines.'),
  'x-platform-id': text('Our id of the task, once it exists; every `{id}` takes it.'),
  'x-cost': text('What the answer was settled at, an exact decimal; `0` for nothing.'),
  'x-cost-currency': text('The currency of `x-cost`.'),
  'x-price-book': text('The version of the price book it was settled by.'),
  'x-cost-split': text('`SKU=amount` of each SKU, by commas; empty for nothing.'),
  'idempotent-replayed': text('`true`: the answer of an earlier request with the same key.'),
  'content-disposition': text('Of CSV: the name of the file.'),
  'retry-after': count('Seconds to wait before another try.'),
  'retry-after-ms': count('The same in milliseconds.'),
  'x-should-retry': text('`false`: must not be sent again by itself.'),
  'www-authenticate': text('How a token is sent.'),
  'x-ratelimit-limit-requests': count('Requests a minute, of a token that has such a limit.'),
  'x-ratelimit-remaining-requests': count('Requests that are left.'),
  'x-ratelimit-reset-requests': text('Until all requests are free again, such as `1m0s`.'),
  'x-ratelimit-limit-tokens': count('Text tokens a minute, of a token that has such a limit.'),
  'x-ratelimit-remaining-tokens': count('Text tokens that are left.'),
  'x-ratelimit-reset-tokens': text('Until all tokens are free again.'),
} as const satisfies Readonly<Record<string, TSchema>>

export type DescribedHeader = keyof typeof headers

/** Of every answer that was settled. */
export const costHeaderNames: readonly DescribedHeader[] = [
  'x-cost',
  'x-cost-currency',
  'x-price-book',
  'x-cost-split',
]

/** Of every answer to whoever has limits. */
export const limitHeaderNames: readonly DescribedHeader[] = [
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
]

/** Those among the names that are described; `x-request-id` is on every answer. */
export function describedHeaders(names: Iterable<string>): Readonly<Record<string, TSchema>> {
  const asked = new Set<string>(['x-request-id', ...names])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => asked.has(name)))
}

export interface DescribedAnswer {
  /** In words; by default those of its schema. */
  readonly what?: string
  /** As JSON; absent where it is never sent as that. */
  readonly json?: TSchema
  /** What else it may be sent as, by media type: what its text is. */
  readonly others?: Readonly<Record<string, string>>
  readonly headers?: readonly DescribedHeader[]
}

/** The description of an answer that is no failure. */
export function answer(described: DescribedAnswer): object {
  const { json, others = {}, headers: names = [] } = described
  const own: unknown = json === undefined ? undefined : Reflect.get(json, 'description')
  return {
    description: described.what ?? (typeof own === 'string' ? own : 'Success.'),
    headers: describedHeaders(names),
    content: {
      ...(json === undefined ? {} : { 'application/json': { schema: json } }),
      ...Object.fromEntries(
        Object.entries(others).map(([type, what]) => [type, { schema: text(what) }]),
      ),
    },
  }
}
