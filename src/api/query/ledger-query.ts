import type { Static } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import { RequestError } from '../kit/request-error.ts'
import { boundOf } from '../kit/queries.ts'
import type { LedgerFilter } from './reads.ts'
import { narrow, visibleTo } from './scope.ts'
import type { SummaryQuerySchema } from './schemas.ts'

type Filters = Omit<Static<typeof SummaryQuerySchema>, 'group_by' | 'as_of'>

/** The filter of a ledger query inside the token's scope. @throws RequestError, DomainError */
export function readLedgerFilter(principal: Principal, query: Filters): LedgerFilter {
  const fromMs = boundOf(query.from, 'from')
  const toMs = boundOf(query.to, 'to')
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
    throw new RequestError('parameter_invalid', 'from must not be later than to', 'from')
  const asked = { tenantId: query.tenant_id, userId: query.user_id }
  return {
    ...narrow(visibleTo(principal), asked),
    sku: query.sku,
    model: query.model,
    currency: query.currency,
    sourceId: query.source_id,
    tokenId: undefined,
    surface: undefined,
    fromMs,
    toMs,
    asOf: undefined,
  }
}
