import type { AccountEvent } from '../../../src/domain/account/events.ts'
import { accountStream } from '../../../src/domain/account/events.ts'
import { currentSchemaVersion } from '../../../src/eventlog/log/codec.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { toTimestamp } from '../../../src/kernel/clock.ts'
import { eventId } from '../../../src/kernel/ids.ts'
import { settleOneOfEach } from './past-weeks.ts'

/** Tenants with a month of calls and credit, as their events leave them: hundreds of them in a second. */

/** A tenant of the month, and how it differs from the others. */
export interface MonthTenant {
  readonly tenantId: string
  readonly name: string
  /** Unix milliseconds; the beginning of the month by default. */
  readonly openedMs?: number
  readonly hasBilling?: false
}

const PARTY = { address: ['Torstr. 1', '10119 Berlin'], country: 'DE' }

function eventsOf(
  { tenantId, name, openedMs, hasBilling }: MonthTenant,
  fromMs: number,
  n: number,
): readonly AccountEvent[] {
  const openedAt = toTimestamp(openedMs ?? fromMs)
  const billing: AccountEvent = {
    type: 'BillingProfileSet',
    data: {
      tenantId,
      revision: 1,
      legalName: `${name} GmbH`,
      ...PARTY,
      emails: [],
      language: 'en',
      timeZone: 'UTC',
      numberPrefix: tenantId.toUpperCase(),
      terms: 'prepaid',
      graceHours: 0,
      setAt: openedAt,
    },
  }
  return [
    { type: 'TenantOpened', data: { tenantId, name, openedAt } },
    { type: 'UserAdded', data: { tenantId, userId: 'user', name: 'Ada', addedAt: openedAt } },
    ...(hasBilling === false ? [] : [billing]),
    {
      type: 'CreditGranted',
      data: {
        tenantId,
        grantId: 'first',
        currency: 'USD',
        amount: String(500 + 10 * (n % 50)),
        reason: 'bank transfer',
        reference: `INV-${n + 1}`,
        grantedAt: toTimestamp(fromMs + 3_600_000 + n),
      },
    },
  ]
}

/** Opens tenants in USD with a call of each model in a month; read models follow later. */
export async function openMonth(
  log: EventLog,
  tenants: readonly MonthTenant[],
  month: { readonly fromMs: number; readonly toMs: number },
): Promise<void> {
  const open = async (tenant: MonthTenant, n: number): Promise<void> => {
    const { tenantId } = tenant
    const stream = accountStream(tenantId)
    const events = eventsOf(tenant, month.fromMs, n).map((event, index) => ({
      ...event,
      id: eventId(stream, 'month', index),
      metadata: {
        schemaVersion: currentSchemaVersion(event.type),
        correlationId: 'month',
        commandId: 'month',
        tenantId,
      },
    }))
    await log.append(stream, events, 'no_stream')
  }
  await Promise.all(tenants.map(open))
  const owners = tenants.map(({ tenantId }) => ({ tenantId, userId: 'user', tokenId: 'token_1' }))
  await settleOneOfEach(log, owners, { fromMs: month.fromMs + 7_200_000, toMs: month.toMs })
}
