import { catalog } from '../../../src/families/index.ts'
import { addUser, issueToken, openTenant } from '../../../src/app/accounts/bootstrap.ts'
import { grantCredit } from '../../../src/app/accounts/credit.ts'
import { openDemoTenant } from '../../../src/app/accounts/demo.ts'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { currencies } from '../../../src/kernel/money.ts'
import type { Demo } from './machine.ts'

/** Who calls in a run beside the demo tenant, and who reads what all of them are billed. */

const NAMESPACE = 'tollgate.'
const CREDIT = '100000000'
const SECOND = { tenantId: 'tenant_second', userId: 'user_second' } as const

export interface OpenedTenants {
  readonly second: { readonly tenantId: string; readonly modelToken: string }
  /** Reads the ledger of every tenant. */
  readonly queryToken: string
}

/** Opens the demo tenant, which the gateway opens by itself only on stores of its own. */
export async function openDemo(eventStoreUrl: string): Promise<Demo> {
  const log = createEventLog({ url: eventStoreUrl, namespace: NAMESPACE })
  try {
    const deps = { log, catalog, clock: systemClock, correlationId: 'faults', actor: 'faults' }
    return await openDemoTenant(deps)
  } finally {
    await log.close()
  }
}

/** Opens the second tenant beside a running gateway, and gives both credit for any number of tasks. */
export async function openTenants(
  eventStoreUrl: string,
  demoTenantId: string,
): Promise<OpenedTenants> {
  const log = createEventLog({ url: eventStoreUrl, namespace: NAMESPACE })
  try {
    const deps = { log, catalog, clock: systemClock, correlationId: 'faults', actor: 'faults' }
    await openTenant(deps, { tenantId: SECOND.tenantId, name: 'Second' })
    await addUser(deps, { ...SECOND, name: 'Second user' })
    for (const tenantId of [demoTenantId, SECOND.tenantId])
      for (const currency of currencies)
        await grantCredit(deps, { tenantId, currency, amount: CREDIT, reason: 'faults' })
    const model = await issueToken(deps, { ...SECOND, kind: 'model', name: 'model' })
    const query = await issueToken(deps, {
      ...SECOND,
      kind: 'query',
      name: 'query',
      scope: { level: 'all_tenants' },
    })
    return {
      second: { tenantId: SECOND.tenantId, modelToken: model.secret },
      queryToken: query.secret,
    }
  } finally {
    await log.close()
  }
}
