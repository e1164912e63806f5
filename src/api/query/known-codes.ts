import type { Principal } from '../../app/access/principal.ts'
import { didYouMean } from '../../kernel/nearest-name.ts'
import { failureTable } from '../kit/failures/failure-table.ts'
import { RequestError } from '../kit/request-error.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { readTimeRange } from './time-range.ts'

/** Codes of failures. Providers have codes too, so that a code is a typo only where no request has it. */

const known: ReadonlySet<string> = new Set(Object.keys(failureTable))

interface CodeQuery {
  readonly code?: string | undefined
  readonly tenant_id?: string | undefined
  readonly user_id?: string | undefined
}

/**
 * Refuses a code that is nearly one of the gateway's, where no request of the time failed or was refused with it.
 * @throws RequestError naming the code that was meant; what the database throws
 */
export async function requireKnownCode(
  { queries: { accounts }, clock }: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: CodeQuery & Parameters<typeof readTimeRange>[0],
): Promise<void> {
  const { code, tenant_id: tenantId, user_id: userId } = query
  if (code === undefined || known.has(code)) return
  const hint = didYouMean(code, known)
  if (hint === '') return
  const filter = {
    ...narrow(visibleTo(principal), { tenantId, userId }),
    ...readTimeRange(query, clock.nowMs()),
    code,
    tokenId: undefined,
    requestId: undefined,
  }
  const one = { limit: 1, after: undefined }
  const ofAny = { model: undefined, channelId: undefined, surface: undefined, status: undefined }
  const [failed, refused] = await Promise.all([
    accounts
      .failurePosition(undefined)
      .then((asOf) => accounts.failures({ ...filter, ...ofAny, asOf }, one)),
    accounts.refusals({ ...filter, route: undefined }, one),
  ])
  if (failed.items.length > 0 || refused.items.length > 0) return
  const message = `no request of this time failed with the code \`${code}\`${hint}`
  throw new RequestError('parameter_invalid', message, 'code')
}
