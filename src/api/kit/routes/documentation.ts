import type { FastifySchema } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { ProviderErrorKind } from '../../../app/ports/provider.ts'
import { type DomainCode, domainCodes, DomainError } from '../../../kernel/errors.ts'
import type { Answer, Envelope } from '../envelope.ts'
import { invariant } from '../../../kernel/assert.ts'
import { type FailureCode, failureTable, forSettings } from '../failures/failure-table.ts'
import { RequestError } from '../request-error.ts'
import type { Tag } from './surface.ts'

/** Describes answers for OpenAPI: their media types and headers. */

interface DescribedHeaderSchema extends TSchema {
  readonly description: string
}
const text = (description: string): DescribedHeaderSchema => ({
  ...Type.String(),
  description,
})
const count = (description: string): DescribedHeaderSchema => ({
  ...Type.Integer({ minimum: 0 }),
  description,
})

const headers = {
  'x-request-id': text('Our id of the request; quote it to support.'),
  'x-call-id': text('Id of the call: `source_id` of its ledger lines.'),
  'x-platform-id': text('Our id of the task, once it exists; every `{id}` takes it.'),
  'x-cost': text('Settled amount of the answer, an exact decimal; `0` if nothing was charged.'),
  'x-cost-currency': text('The currency of `x-cost`.'),
  'x-price-book': text('The version of the price book that the settlement used.'),
  'x-cost-split': text(
    '`SKU=amount` for each SKU, separated by commas; empty if nothing was charged.',
  ),
  'idempotent-replayed': text('`true`: the answer of an earlier request with the same key.'),
  'idempotent-kept': text(
    '`false`: the answer is settled, but not kept: the key cannot return it again.',
  ),
  'content-disposition': text('Name of a file: rows, tenant, range and position.'),
  'x-as-of': text('Log position that a file is as of.'),
  'retry-after': count('Seconds to wait before a retry.'),
  'retry-after-ms': count('Milliseconds to wait before a retry.'),
  'x-should-retry': text('`false`: clients must not retry automatically.'),
  'www-authenticate': text('How to send a token.'),
  'x-ratelimit-limit-requests': count('Limit of requests per minute, where the token has one.'),
  'x-ratelimit-remaining-requests': count('Requests left under the limit.'),
  'x-ratelimit-reset-requests': text(
    'Time until the full limit is available again, such as `1m0s`.',
  ),
  'x-ratelimit-limit-tokens': count('Limit of text tokens per minute, where the token has one.'),
  'x-ratelimit-remaining-tokens': count('Text tokens left under the limit.'),
  'x-ratelimit-reset-tokens': text('Time until the full limit is available again.'),
} as const satisfies Readonly<Record<string, DescribedHeaderSchema>>

export type DescribedHeader = keyof typeof headers

/** Headers of every answer that was settled. */
export const costHeaderNames: readonly DescribedHeader[] = [
  'x-cost',
  'x-cost-currency',
  'x-price-book',
  'x-cost-split',
]

/** On every answer to a caller that has limits. */
export const limitHeaderNames: readonly DescribedHeader[] = [
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
]

/** The described headers among the names; `x-request-id` is on every answer. */
function describedHeaders(names: Iterable<string>): Readonly<Record<string, TSchema>> {
  const asked = new Set<string>(['x-request-id', ...names])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => asked.has(name)))
}

export interface DescribedAnswer {
  /** Description; by default that of its schema. */
  readonly what?: string
  /** The schema of the JSON; absent if the answer is never JSON. */
  readonly json?: TSchema
  /** Examples of the JSON by their names. */
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
  /** Further media types of the answer, each with a description: texts, or bytes of a file. */
  readonly others?: Readonly<Record<string, string>>
  readonly headers?: readonly DescribedHeader[]
}

/** The description of an answer that is no failure. */
export function answer(described: DescribedAnswer): object {
  const { json, examples, others = {}, headers: names = [] } = described
  const own: unknown = json === undefined ? undefined : Reflect.get(json, 'description')
  return {
    description: described.what ?? (typeof own === 'string' ? own : 'Success.'),
    headers: describedHeaders(names),
    content: {
      ...(json === undefined
        ? {}
        : { 'application/json': { schema: json, ...(examples && { examples }) } }),
      ...Object.fromEntries(
        Object.entries(others).map(([type, what]) => [type, { schema: bodyOf(type, what) }]),
      ),
    },
  }
}

function bodyOf(mediaType: string, what: string): TSchema {
  return mediaType.startsWith('text/') ? text(what) : { ...text(what), format: 'binary' }
}

/** An answer that has no body. */
export function emptyAnswer(description: string): object {
  return { type: 'null', description, headers: describedHeaders([]) }
}

/** Any request's id, for the shapes that have it. */
const EXAMPLE_REQUEST = 'req_01KA0000000000000000000000'

/** Describes the failures of a surface by the answers of its envelope. */
export interface FailureShape {
  readonly envelope: Envelope
  readonly schema: TSchema
  /** Name and message of a failure in an answer. */
  readonly read: (body: unknown) => { readonly name: string; readonly message: string }
}

function isDomainCode(failure: FailureCode): failure is DomainCode {
  return domainCodes.some((code) => code === failure)
}

function isRefusal(failure: FailureCode): failure is `refused_${ProviderErrorKind}` {
  return failure.startsWith('refused_')
}

const settingErrors = forSettings(
  (setting, fault) => new DomainError(`setting_${fault}`, '', { setting }),
)

function isOfSetting(failure: FailureCode): failure is keyof typeof settingErrors {
  return Object.hasOwn(settingErrors, failure)
}

/** An error of this kind with only the generic message. */
function plainError(failure: FailureCode): Error {
  if (isDomainCode(failure)) return new DomainError(failure, '', {})
  if (isRefusal(failure))
    return new DomainError('call_refused', '', { kind: failure.slice('refused_'.length) })
  return isOfSetting(failure) ? settingErrors[failure] : new RequestError(failure, '')
}

/**
 * The failures of a route by status, each shown exactly as the envelope answers it. `further` are
 * errors with a message of their own, or of a kind that has several statuses; `headers` are headers
 * of every failure.
 */
export function failureResponses(
  shape: FailureShape,
  failures: readonly FailureCode[],
  further: readonly Error[] = [],
  headers: readonly DescribedHeader[] = [],
): Readonly<Record<string, TSchema>> {
  const byStatus = new Map<number, { named: Map<string, Answer['body']>; sent: Set<string> }>()
  const answers = [
    ...further.map((error) => shape.envelope(error, EXAMPLE_REQUEST)),
    ...failures.map((failure) => answerOf(shape, failure)),
  ]
  for (const { status, body, headers: given } of answers) {
    const found = byStatus.get(status) ?? { named: new Map(), sent: new Set<string>(headers) }
    byStatus.set(status, found)
    for (const name of Object.keys(given)) found.sent.add(name)
    const { name } = shape.read(body)
    if (!found.named.has(name)) found.named.set(name, body)
  }
  return Object.fromEntries(
    [...byStatus].map(([status, { named, sent }]) => {
      const examples = [...named.values()]
      const description = examples
        .map((body) => shape.read(body))
        .map(({ name, message }) => `${name}: ${message}`)
        .join('\n\n')
      return [status, { ...shape.schema, description, examples, headers: describedHeaders(sent) }]
    }),
  )
}

/** Answers of each envelope to each failure, made once: hundreds of routes name the same failures. */
const answersOf = new WeakMap<Envelope, Map<FailureCode, Answer>>()

/** @throws if the surface has no entry of a failure, which it would answer as a defect */
function answerOf({ envelope }: FailureShape, failure: FailureCode): Answer {
  const known = answersOf.get(envelope) ?? new Map<FailureCode, Answer>()
  answersOf.set(envelope, known)
  const answer = known.get(failure) ?? envelope(plainError(failure), EXAMPLE_REQUEST)
  known.set(failure, answer)
  invariant(
    answer.status !== 500 || failureTable[failure].status === 500,
    `a route documents ${failure}, and its surface has no entry of it`,
  )
  return answer
}

function headersOf(failures: readonly FailureCode[]): readonly DescribedHeader[] {
  if (failures.includes('idempotency_key_reused')) return ['x-platform-id', 'idempotent-replayed']
  return failures.includes('task_not_found') ? ['x-platform-id'] : []
}

/** The section that tasks of videos are described in. */
export const videoTasks: Tag = {
  name: 'Video tasks',
  description: 'Create, query, list and delete tasks that make a video.',
}

/**
 * Describes the task routes of a surface for OpenAPI, their failures included. `ofCreations` are
 * failures that say more than their kind.
 */
export function taskDescriber(shape: FailureShape, ofCreations: readonly Error[]) {
  return (route: {
    readonly operationId: string
    readonly summary: string
    readonly ok: TSchema
    readonly failures: readonly FailureCode[]
    /** The answer has the settled cost of the task. */
    readonly costs?: boolean
  }): FastifySchema => {
    const { failures } = route
    const headers = headersOf(failures)
    const further = failures.includes('idempotency_key_reused') ? ofCreations : []
    return {
      operationId: route.operationId,
      tags: [videoTasks.name],
      summary: route.summary,
      security: [{ modelToken: [] }],
      response: {
        200: answer({
          json: route.ok,
          headers: route.costs === true ? [...headers, ...costHeaderNames] : headers,
        }),
        ...failureResponses(shape, failures, further, headers),
      },
    }
  }
}

/** The headers of answers as components of the OpenAPI description. */
export const headerComponents = Object.fromEntries(
  Object.entries(headers).map(([name, { description, ...schema }]) => [
    name,
    { description, schema },
  ]),
)

/**
 * Makes the answers of an OpenAPI description refer to `headerComponents`, and lets a failure say
 * its description once: most of 1.2 MB was both of them again.
 */
export function shareRepeatedParts(paths: object): void {
  for (const operation of Object.values(paths).flatMap((path: object) => Object.values(path)))
    for (const response of Object.values<DescribedResponse>(operation.responses)) {
      for (const name of Object.keys(response.headers ?? {}))
        response.headers = {
          ...response.headers,
          [name]: { $ref: `#/components/headers/${name}` },
        }
      for (const { schema } of Object.values(response.content ?? {}))
        if (schema?.description === response.description) delete schema?.description
    }
}

interface DescribedResponse {
  readonly description?: string
  headers?: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, { readonly schema?: { description?: string } }>>
}
