import type { BillingTerms } from '../../domain/account/billing.ts'
import { accountStream } from '../../domain/account/events.ts'
import {
  type AccountSettings,
  evolveSettings,
  isSettingEvent,
  settingIn,
} from '../../domain/account/settings.ts'
import { readPages } from '../../eventlog/log/pages.ts'
import type { AccountSource } from './account-state.ts'

/** Terms that replaced other ones. */
export interface TermsChange {
  /** Position of its event in the log: what has a later one is under these terms. */
  readonly position: bigint
  /** RFC 3339. */
  readonly at: string
  readonly terms: BillingTerms
}

/** How an account was named and billed, up to a position of the log. */
export interface AccountHistory {
  /** The name at the position; undefined for a tenant that was not there yet. */
  readonly name: string | undefined
  /** The names at the position, by the id of the user. */
  readonly userNames: ReadonlyMap<string, string>
  /** Oldest first. */
  readonly termsChanges: readonly TermsChange[]
}

/** The terms under which something at a position of the log was billed. */
export function termsAt(
  { termsChanges }: Pick<AccountHistory, 'termsChanges'>,
  position: bigint,
): BillingTerms {
  const last = termsChanges.findLast((change) => change.position <= position)
  return last?.terms ?? settingIn({}, 'billing').terms
}

/**
 * The history of an account up to a position, from the log: read models keep present settings only, and a report as of
 * a position must say the same for ever. @throws errors of the log
 */
export async function readAccountHistory(
  { log }: Pick<AccountSource, 'log'>,
  tenantId: string,
  asOf: bigint,
): Promise<AccountHistory> {
  let name: string | undefined
  const userNames = new Map<string, string>()
  const termsChanges: TermsChange[] = []
  let settings: AccountSettings = {}
  for await (const event of readPages(log, accountStream(tenantId))) {
    const { position } = event
    if (position > asOf) break
    if (event.type === 'TenantOpened') name = event.data.name
    if (event.type === 'UserAdded' || event.type === 'UserRenamed')
      userNames.set(event.data.userId, event.data.name)
    if (!isSettingEvent(event)) continue
    const before = settingIn(settings, 'billing').terms
    settings = evolveSettings(settings, event)
    name = settings.name?.name ?? name
    const { terms } = settingIn(settings, 'billing')
    if (terms !== before) termsChanges.push({ position, at: event.data.setAt, terms })
  }
  return { name, userNames, termsChanges }
}
