import type { TSchema } from 'typebox'
import type { ProviderErrorKind } from '../../app/ports.ts'
import { DomainError, domainCodes, type DomainCode } from '../../kernel/errors.ts'
import { describedHeaders, type DescribedHeader } from './answer-documentation.ts'
import type { Answer, Envelope } from './envelope.ts'
import type { FailureCode } from './failure-table.ts'
import { RequestError } from './request-error.ts'

/** Any request's id, for the shapes that have it. */
const EXAMPLE_REQUEST = 'req_01KA0000000000000000000000'

/** How the failures of a surface are described, from the answers its envelope gives. */
export interface FailureShape {
  readonly envelope: Envelope
  readonly schema: TSchema
  /** What a failure is called in an answer, and what is said of it. */
  readonly read: (body: unknown) => { readonly name: string; readonly message: string }
}

function isDomainCode(failure: FailureCode): failure is DomainCode {
  return domainCodes.some((code) => code === failure)
}

function isRefusal(failure: FailureCode): failure is `refused_${ProviderErrorKind}` {
  return failure.startsWith('refused_')
}

/** An error of this kind that says nothing but its kind. */
function plainError(failure: FailureCode): Error {
  if (isDomainCode(failure)) return new DomainError(failure, '', {})
  return isRefusal(failure)
    ? new DomainError('call_refused', '', { kind: failure.slice('refused_'.length) })
    : new RequestError(failure, '')
}

/**
 * The failures of a route by status, each shown exactly as the envelope answers it. `further` are
 * errors that tell more than their kind, or of which one kind has several statuses; `headers` what
 * they carry whatever they are.
 */
export function failureResponses(
  shape: FailureShape,
  failures: readonly FailureCode[],
  further: readonly Error[] = [],
  headers: readonly DescribedHeader[] = [],
): Readonly<Record<string, TSchema>> {
  const byStatus = new Map<number, { named: Map<string, Answer['body']>; sent: Set<string> }>()
  for (const error of [...further, ...failures.map(plainError)]) {
    const { status, body, headers: given } = shape.envelope(error, EXAMPLE_REQUEST)
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
