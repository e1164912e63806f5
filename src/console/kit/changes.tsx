import type { JSX } from 'preact'
import type { readChanges } from '../../api/query/changes.ts'
import type { Principal } from '../../app/access/principal.ts'
import { isOperator } from '../../domain/token/events.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import {
  activityHref,
  bookHref,
  changesHref,
  findHref,
  lifeHref,
  lineHref,
  movementsHref,
  proposalHref,
  tenantHref,
  tokenHref,
} from './href.ts'
import { FactsPanel, type PanelFacts } from './panel.tsx'
import { Table, type TableColumn } from './table.tsx'
import { Id, Moment, type ZoneClock } from './values.tsx'

/** Changes as pages show them: who, what, of whom, when, why, and from what to what. */

export type Changes = Awaited<ReturnType<Awaited<ReturnType<typeof readChanges>>['page']>>
type ListedChange = Changes['items'][number]

interface ChangesView {
  readonly clock: ZoneClock
  readonly token: Principal
}

/** A posting is dated up to so long before the log recorded it. */
const BEFORE_MS = 60_000

/** The page of a posting, a proposal or a price book, as far as the reader may open it. */
function idHref(change: ListedChange, { kind, role, scope }: Principal): string | undefined {
  const { id, type, at, tenant_id: tenantId, line_id: line } = change
  if (id === null) return undefined
  const isAdmin = kind === 'admin'
  if (type === 'PriceBookPublished')
    return isAdmin && isOperator({ kind, scope }) ? bookHref(id) : undefined
  if (tenantId === null) return undefined
  if (/^Posting(?:Proposed|Approved|Rejected)$/.test(type))
    return isAdmin ? proposalHref({ tenantId, proposalId: id }) : undefined
  if (role === 'support') return undefined
  if (type === 'AdjustmentPosted' && line !== null) return `${lineHref(line)}#refunds`
  if (type === 'CreditGranted' || type === 'AdjustmentPosted') {
    const atMs = fromTimestamp(at)
    const [from, to] = [toTimestamp(atMs - BEFORE_MS), toTimestamp(atMs + 1_000)]
    return movementsHref({ tenant_id: tenantId, from, to })
  }
  return findHref({ q: id })
}

/** A person by name, a shell by its name; an operator is not named to a tenant. */
function Actor({ of }: { readonly of: ListedChange }): JSX.Element {
  const { actor, actor_name: name, actor_user_id: user, actor_tenant_id: tenantId } = of
  if (actor === null || name === null) return <>the operator</>
  if (user === null)
    return (
      <>
        <a href={changesHref({ by: actor })}>{name}</a>
        <span class="note"> at a shell</span>
      </>
    )
  return (
    <>
      <a href={changesHref({ by: user })}>{name}</a>
      <span class="note"> of {tenantId}</span>
    </>
  )
}

/** The tenant, and the user or the token of it. */
function Subject({
  of,
  token,
}: {
  readonly of: ListedChange
  readonly token: Principal
}): JSX.Element {
  const { tenant_id: tenantId, user_id: userId, token_id: tokenId } = of
  if (tenantId === null) return <>all tenants</>
  const isAdmin = token.kind === 'admin'
  const tenant = isAdmin ? <a href={tenantHref(tenantId)}>{tenantId}</a> : <>{tenantId}</>
  return (
    <>
      {tokenId === null ? null : (
        <>
          token{' '}
          {isAdmin && token.role !== 'finance' ? (
            <a href={tokenHref(tokenId)}>{of.token_name ?? tokenId}</a>
          ) : (
            (of.token_name ?? tokenId)
          )}
          {', '}
        </>
      )}
      {userId === null ? null : (
        <>
          <a href={activityHref(tenantId, { user_id: userId })}>{of.user_name ?? userId}</a>
          {' of '}
        </>
      )}
      {tenant}
    </>
  )
}

/** What stood before and what stands since. */
function SidesOf({ of: { from, to } }: { readonly of: ListedChange }): JSX.Element {
  if (from === null) return <>{to ?? ''}</>
  return (
    <>
      {from}
      <span aria-hidden="true"> → </span>
      <span class="unseen"> to </span>
      {to ?? 'nothing'}
    </>
  )
}

const columnsIn = ({ clock, token }: ChangesView): readonly TableColumn<ListedChange>[] => [
  { name: 'time', cell: ({ at }) => <Moment atMs={fromTimestamp(at)} clock={clock} /> },
  { name: 'by', cell: (change) => <Actor of={change} /> },
  { name: 'change', narrow: 'lead', cell: ({ what }) => what },
  { name: 'of', cell: (change) => <Subject of={change} token={token} /> },
  { name: 'from → to', cell: (change) => <SidesOf of={change} /> },
  { name: 'reason', cell: ({ reason }) => reason ?? '' },
  {
    name: 'leads to',
    cell: (change) => {
      const { id, line_id: line } = change
      if (id === null) return ''
      const isOfSupport = line !== null && token.role === 'support'
      return (
        <span class="short" title={id}>
          <Id
            id={id}
            href={isOfSupport ? lifeHref(line.replace(/:\d+$/, '')) : idHref(change, token)}
          />
        </span>
      )
    },
  },
]

/** A table of changes. */
export function ChangesTable({
  items,
  label,
  empty,
  view,
}: {
  readonly items: readonly ListedChange[]
  readonly label: string
  readonly empty: string
  readonly view: ChangesView
}): JSX.Element {
  return (
    <Table
      label={label}
      columns={columnsIn(view)}
      rows={items}
      keyOf={({ position }) => position}
      empty={empty}
    />
  )
}

/** The last changes of a tenant or a token, and where all of them are. */
export function LastChanges({
  of,
  all,
  view,
}: {
  readonly of: PanelFacts<Changes>
  /** The address of all of them. */
  readonly all: string
  readonly view: ChangesView
}): JSX.Element {
  return (
    <FactsPanel
      id="changes"
      title="Last changes"
      of={of}
      show={({ items }) => (
        <>
          <ChangesTable
            items={items}
            label="Last changes"
            empty="Nothing was changed that you may see."
            view={view}
          />
          <p class="note">
            <a href={all}>All changes</a>
          </p>
        </>
      )}
    />
  )
}
