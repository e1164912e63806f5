import { currencies } from '../../kernel/money.ts'
import {
  type AccountCommandDeps,
  addUser,
  type IssuedSecret,
  issueToken,
  openTenant,
} from './account-commands.ts'
import { grantCredit } from './credit.ts'

/** Tenant, user and tokens that the first start of the embedded default creates. */

const DEMO_TENANT_ID = 'tenant_demo'
const DEMO_USER_ID = 'user_demo'
const DEMO_CREDIT = '10000'

interface DemoTenant {
  readonly tenantId: string
  readonly userId: string
  readonly modelToken: string
  readonly profileToken: string
  readonly queryToken: string
  readonly adminToken: string
  /** Position of the last event, to wait for. */
  readonly position: bigint | undefined
}

/**
 * Opens the demo tenant with credit in both currencies and issues a token of each kind. A
 * repetition after a crash issues new tokens and grants no second credit.
 */
export async function openDemoTenant(deps: AccountCommandDeps): Promise<DemoTenant> {
  const tenantId = DEMO_TENANT_ID
  const userId = DEMO_USER_ID
  await openTenant(deps, { tenantId, name: 'Demo' })
  await addUser(deps, { tenantId, userId, name: 'Demo user' })
  for (const currency of currencies)
    await grantCredit(deps, {
      tenantId,
      grantId: `grant_demo_${currency.toLowerCase()}`,
      currency,
      amount: DEMO_CREDIT,
      reason: 'demo credit',
    })
  const issue = (kind: 'model' | 'profile' | 'admin'): Promise<IssuedSecret> =>
    issueToken(deps, { tenantId, userId, kind, name: `Demo ${kind} token` })
  const model = await issue('model')
  const profile = await issue('profile')
  const admin = await issue('admin')
  const query = await issueToken(deps, {
    tenantId,
    userId,
    kind: 'query',
    name: 'Demo query token',
    scope: { level: 'all_users' },
  })
  return {
    tenantId,
    userId,
    modelToken: model.secret,
    profileToken: profile.secret,
    queryToken: query.secret,
    adminToken: admin.secret,
    position: query.position,
  }
}
