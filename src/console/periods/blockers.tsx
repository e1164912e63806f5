import type { JSX } from 'preact'
import type { Principal } from '../../app/access/principal.ts'
import type { Blocker, BlockerCode, MonthOf } from '../../app/finance/statements/types.ts'
import { isOperator } from '../../domain/token/events.ts'
import { operationsHref, periodHref, proposalsHref } from '../kit/href.ts'
import { Command, sentenceInZone } from '../kit/values.tsx'
import type { View } from '../page.tsx'

/** Why months cannot be closed yet, in words, each with what ends it. */

/** Words for a blocker that many months have. */
export const blockerWords: Readonly<Record<BlockerCode, string>> = {
  ledger_behind: 'the ledger is behind the log',
  spool_waiting: 'settlements wait in spools',
  books_differ: 'debits and credits differ',
  proposals_open: 'postings wait for an approval',
  audit_found: 'the last audit has findings',
  audit_old: 'no audit has ended lately',
  grace_running: 'the month and its grace period are not over',
  profile_missing: 'the tenant has no billing details',
  issuer_missing: 'the issuer of statements is not set',
  previous_open: 'an earlier month is open',
}

/** Pages that end blockers, and who may open them. */
const pages: Readonly<
  Record<string, { readonly opensFor: (token: Principal) => boolean; readonly who: string }>
> = {
  [proposalsHref()]: { opensFor: ({ kind }) => kind === 'admin', who: 'an administrator' },
  [operationsHref()]: {
    opensFor: (token) => isOperator(token) && token.role === undefined,
    who: 'an operator without a role',
  },
}

const previousMonth = / --month (\d{4}-\d{2})$/

/** Shows what ends a blocker: a page as a link, a command as it is typed. */
export function BlockerOf({
  blocker: { code, message, href },
  of,
  view: { token, clock },
}: {
  readonly blocker: Blocker
  readonly of: MonthOf
  readonly view: View
}): JSX.Element {
  const [, month] = code === 'previous_open' ? (previousMonth.exec(href) ?? []) : []
  if (month !== undefined) return <a href={periodHref({ ...of, month })}>{message}</a>
  const page = pages[href]
  if (page !== undefined)
    return page.opensFor(token) ? (
      <a href={href}>{message}</a>
    ) : (
      <>
        {message}: {page.who} ends it at <code>{href}</code>
      </>
    )
  if (code === 'grace_running') return <>{sentenceInZone(message, clock)}</>
  return (
    <>
      {message}: <Command>{href}</Command>
    </>
  )
}
