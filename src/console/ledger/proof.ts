import type { FastifyInstance } from 'fastify'
import { inFileName } from '../../api/kit/answers/files.ts'
import { principalOf } from '../../api/kit/tokens/authenticate.ts'
import { readLineProof } from '../../api/query/statements/files.ts'
import { paths } from '../kit/href.ts'
import type { ConsoleServices } from '../page.tsx'
import { readingAs, viewReasonBefore } from '../session/reading-as.ts'

/** The name under which the proof of a line is saved. */
export const proofName = (lineId: string): string => `${inFileName(lineId)}.tlog-proof`

/** Registers the proof of a line as a file: a session has no token to ask the API with. */
export function proofRoute(app: FastifyInstance, services: ConsoleServices): void {
  app.get<{ Params: { id: string } }>(
    paths.proof,
    { config: { roles: ['finance'] }, schema: { hide: true } },
    async (request, reply) => {
      const token = principalOf(request)
      const { id } = request.params
      const { tenantId, proof } = await readLineProof(services, readingAs(token), id)
      const reasonHref = viewReasonBefore(request, token, [tenantId])
      if (reasonHref !== undefined) return reply.redirect(reasonHref, 303)
      return reply
        .header('content-disposition', `attachment; filename="${proofName(id)}"`)
        .type('text/plain; charset=utf-8')
        .send(proof)
    },
  )
}
