import type { FastifyInstance } from 'fastify'
import { memoizeFor } from '../platform/memoize.ts'
import { answer, failureResponses } from './kit/routes/documentation.ts'
import type { Services } from './kit/services.ts'
import { operatingShape } from './operating/envelope.ts'

/** Keys change with the secret alone: a new one may be shown seconds later. */
const KEPT_MS = 5_000

/** The public keys of statements, without a token: verifiers know none. */
export function statementKeysPlugin({ issuer }: Pick<Services['accounts'], 'issuer'>) {
  const keys = memoizeFor(KEPT_MS, issuer.keys)
  // oxlint-disable-next-line typescript/require-await -- Fastify recognises a plugin by it
  return async (app: FastifyInstance): Promise<void> => {
    app.get(
      '/.well-known/tollgate-statement-keys',
      {
        schema: {
          operationId: 'listStatementKeys',
          tags: ['Operating'],
          summary: 'List the public keys that sign statements, or did',
          response: {
            200: answer({
              others: { 'text/plain': 'A key a line, as verifiers of signed notes take it.' },
            }),
            ...failureResponses(operatingShape, ['outage', 'internal']),
          },
        },
      },
      async (_request, reply) => {
        const lines = (await keys()).map((vkey) => `${vkey}\n`)
        return reply
          .header('cache-control', 'no-cache')
          .type('text/plain; charset=utf-8')
          .send(lines.join(''))
      },
    )
  }
}
