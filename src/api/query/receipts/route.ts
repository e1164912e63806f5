import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Principal } from '../../../app/access/principal.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { principalOf } from '../../kit/tokens/authenticate.ts'
import { toPosition } from '../as-of.ts'
import { describeQuery } from '../documentation.ts'
import { receiptFailures } from '../envelope.ts'
import type { QueryReads } from '../reads.ts'
import { sees, visibleTo } from '../scope.ts'
import { ReceiptAnswerSchema, ReceiptParamsSchema, ReceiptQuerySchema } from './schemas.ts'
import { shownReceipt } from './view.ts'

/** Matches an id of the gateway or of a model service, or the name of a ledger line. */
const possibleId = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}(?::[1-9]\d{0,3})?$/

/**
 * The receipt of an id, within what the principal may see, as of a position or of all that the log has.
 * @throws DomainError `receipt_not_found`, `read_model_behind`; RequestError if the log has no such position
 */
export async function readReceipt(
  reads: QueryReads,
  principal: Principal,
  id: string,
  asOf?: string,
) {
  const visible = visibleTo(principal)
  const receipt = possibleId.test(id)
    ? await reads.receipt(id, visible, toPosition(asOf))
    : undefined
  // The reads filter already; this check keeps other tenants' receipts out even if one of them
  // fails to.
  if (receipt === undefined || !sees(visible, receipt))
    throw new DomainError('receipt_not_found', 'no such task, call or line', {})
  return shownReceipt(receipt, visible.tenantId === undefined)
}

/** `GET /receipts/{id}`: the cost of one task or call, and its reason. */
export function receiptRoute(instance: FastifyInstance, reads: QueryReads): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/receipts/:id',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'getReceipt',
          summary: 'Get the receipt of a task or a call: its cost, and why',
          ok: ReceiptAnswerSchema,
          failures: receiptFailures,
        }),
        params: ReceiptParamsSchema,
        querystring: ReceiptQuerySchema,
      },
    },
    async (request, reply) => {
      const { params, query } = request
      const data = await readReceipt(reads, principalOf(request), params.id, query.as_of)
      void reply.header('cache-control', 'no-store')
      return { success: true as const, message: '', data }
    },
  )
}
