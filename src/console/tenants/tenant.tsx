import type { JSX } from 'preact'
import type { SubjectLimits } from '../../domain/account/limits.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import {
  activityHref,
  billingHref,
  adminPath,
  apiPath,
  changesHref,
  overviewHref,
  paths,
  tenantHref,
  tokenHref,
} from '../kit/href.ts'
import { LastChanges } from '../kit/changes.tsx'
import type { Budget } from '../kit/balance-facts.ts'
import { Tiles } from '../kit/balances.tsx'
import { FactsPanel, Panel } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Facts, Id, Money, Moment, type ZoneClock, State } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import { type TenantFacts, readTenant, tenantQuery, type Users } from './facts.ts'
import { TenantForms } from './tenant-forms.tsx'
import { limitsInWords, type ShownToken, TimeOr } from './token-words.tsx'

/** One tenant: its status, money, users, tokens, limits and budgets, with the forms that change them. */

const userColumns = (
  tenantId: string,
  clock: ZoneClock,
  mayChange: boolean,
): readonly TableColumn<Users['items'][number]>[] => [
  { name: 'name', narrow: 'lead', cell: ({ name }) => name },
  {
    name: 'user',
    cell: ({ id }) => <Id id={id} href={activityHref(tenantId, { user_id: id })} />,
  },
  {
    name: 'status',
    cell: ({ suspended, suspended_reason: why }) =>
      suspended ? <span class="state bad">suspended: {why}</span> : <State word="open" />,
  },
  {
    name: 'added',
    cell: ({ added_at: at }) => <Moment atMs={fromTimestamp(at)} clock={clock} />,
  },
  ...(mayChange
    ? [
        {
          name: 'forms',
          cell: ({ id }: Users['items'][number]) => (
            <a href={`${tenantHref(tenantId, { user: id })}#user`}>change</a>
          ),
        },
      ]
    : []),
]

const tokenColumns = (clock: ZoneClock): readonly TableColumn<ShownToken>[] => [
  { name: 'name', narrow: 'lead', cell: ({ id, name }) => <a href={tokenHref(id)}>{name}</a> },
  {
    name: 'secret',
    cell: ({ prefix, last_four: lastFour, subject }) =>
      subject === null ? (
        <code>{`${prefix}…${lastFour}`}</code>
      ) : (
        `none: ${subject} signs in by name`
      ),
  },
  { name: 'kind', cell: ({ kind, role }) => (role === null ? kind : `${kind}, ${role}`) },
  { name: 'user', cell: ({ user_id: userId }) => userId },
  {
    name: 'limits',
    narrow: 'drop',
    cell: ({ kind, limits }) => (kind === 'model' ? limitsInWords(limits, 'default') : '–'),
  },
  {
    name: 'last used',
    cell: ({ last_used_at: at }) => <TimeOr at={at} none="never" clock={clock} />,
  },
  {
    name: 'status',
    cell: ({ disabled_at: at }) => <State word={at === null ? 'active' : 'disabled'} />,
  },
]

const figure = (limit: number | undefined) => limit ?? '–'
const limitColumns: readonly TableColumn<SubjectLimits>[] = [
  {
    name: 'owner',
    narrow: 'lead',
    cell: ({ subject }) => (subject.kind === 'user' ? subject.userId : 'the tenant'),
  },
  { name: 'requests / min', right: true, cell: (one) => figure(one.requestsPerMinute) },
  { name: 'tokens / min', right: true, cell: (one) => figure(one.tokensPerMinute) },
  { name: 'calls at once', right: true, cell: (one) => figure(one.concurrentCalls) },
  { name: 'tasks at once', right: true, cell: (one) => figure(one.concurrentTasks) },
]

const subjectOf = ({ subject, user_id: userId, token_id: tokenId }: Budget): string =>
  userId ?? tokenId ?? `the ${subject}`

function budgetColumns(tenantId: string): readonly TableColumn<Budget>[] {
  const from = adminPath(`/tenants/${encodeURIComponent(tenantId)}/budgets`)
  const amount = (text: string | null) =>
    text === null ? '–' : <Money amount={text} from={from} />
  return [
    { name: 'owner', narrow: 'lead', cell: subjectOf },
    { name: 'per', cell: ({ period, currency }) => `${period}, ${currency}` },
    { name: 'spent', right: true, cell: ({ spent }) => amount(spent) },
    { name: 'warns at', right: true, cell: ({ soft }) => amount(soft) },
    { name: 'stops at', right: true, cell: ({ hard }) => amount(hard) },
    { name: 'left', right: true, cell: ({ left }) => amount(left) },
  ]
}

/** A link to the next page of one of the lists, which keeps the place of the other. */
function More({
  facts: { tenant, query: asked },
  list,
  next,
}: {
  readonly facts: TenantFacts
  readonly list: 'users' | 'tokens'
  readonly next: string | null
}): JSX.Element | null {
  const isFirst = asked[list] === undefined
  if (next === null && isFirst) return null
  const at = (place: string | undefined) => tenantHref(tenant.id, { ...asked, [list]: place })
  return (
    <p class="pager">
      {isFirst ? null : (
        <a class="button" href={at(undefined)}>
          First {list}
        </a>
      )}
      {next === null ? null : (
        <a class="button" href={at(next)}>
          More {list}
        </a>
      )}
    </p>
  )
}

function Access({
  facts,
  view: { clock, token },
}: {
  readonly facts: TenantFacts
  readonly view: View
}) {
  const mayChange = token.role === undefined && facts.status.status !== 'closed'
  return (
    <>
      <FactsPanel
        id="users"
        title="Users"
        of={facts.users}
        show={({ items, next_cursor: next }) => (
          <>
            <Table
              label="Users of the tenant"
              columns={userColumns(facts.tenant.id, clock, mayChange)}
              rows={items}
              keyOf={({ id }) => id}
              empty="The tenant has no users yet."
            />
            <More facts={facts} list="users" next={next} />
          </>
        )}
      />
      <FactsPanel
        id="tokens"
        title="Tokens"
        of={facts.tokens}
        show={({ items, next_cursor: next }) => (
          <>
            <Table
              label="Tokens of the tenant"
              columns={tokenColumns(clock)}
              rows={items}
              keyOf={({ id }) => id}
              empty="The tenant has no tokens yet."
            />
            <More facts={facts} list="tokens" next={next} />
          </>
        )}
      />
    </>
  )
}

function Bounds({ facts }: { readonly facts: TenantFacts }): JSX.Element {
  return (
    <>
      <FactsPanel
        id="limits"
        title="Limits"
        of={facts.limits}
        show={({ limits }) => (
          <Table
            label="Limits of the tenant"
            columns={limitColumns}
            rows={limits}
            keyOf={({ subject }) => (subject.kind === 'user' ? `user ${subject.userId}` : 'tenant')}
            empty="No limits are set: those of the tokens apply."
          />
        )}
      />
      <FactsPanel
        id="budgets"
        title="Budgets"
        of={facts.budgets}
        show={({ items }) => (
          <Table
            label="Budgets of the tenant"
            columns={budgetColumns(facts.tenant.id)}
            rows={items}
            keyOf={(one) => `${subjectOf(one)} ${one.currency} ${one.period}`}
            empty="No budgets are set."
          />
        )}
      />
    </>
  )
}

function TenantPage({ facts, view }: { readonly facts: TenantFacts; readonly view: View }) {
  const { tenant, status, tiles, query: asked } = facts
  const { clock } = view
  return (
    <>
      <h1 class="title">{tenant.name}</h1>
      <Panel id="tenant" title={`Status: ${status.status}`}>
        <Facts
          facts={[
            ['tenant', <code>{tenant.id}</code>],
            ['opened', <Moment atMs={fromTimestamp(tenant.opened_at)} clock={clock} />],
            ['status since', <TimeOr at={status.since ?? null} none="opening" clock={clock} />],
            ...(status.reason === '' ? [] : [['reason', status.reason] as const]),
            ['suspended users', String(status.suspendedUsers.length)],
            ['spend', <a href={overviewHref({ tenant_id: tenant.id })}>overview</a>],
            ['calls and tasks', <a href={activityHref(tenant.id)}>activity</a>],
            ...(view.token.role === 'support'
              ? []
              : [['billing', <a href={billingHref(tenant.id)}>profile and approvals</a>] as const]),
          ]}
        />
      </Panel>
      <Tiles of={tiles} tz={asked.tz} clock={clock} />
      <Access facts={facts} view={view} />
      <Bounds facts={facts} />
      <LastChanges
        of={facts.changes}
        all={changesHref({ tenant_id: tenant.id, time_preset: '30d' })}
        view={view}
      />
      <TenantForms facts={facts} view={view} />
      <p class="note links">
        The same as JSON, with an admin token: <code>GET /api/admin/tenants/{tenant.id}</code>, and
        balances with a query token:{' '}
        <code>GET {apiPath('/balance', { tenant_id: tenant.id })}</code>
      </p>
    </>
  )
}

/** A tenant within the reach of an admin token. */
export const tenantPage: Page<typeof tenantQuery, TenantFacts> = {
  path: paths.tenant,
  roles: ['finance', 'support'],
  query: tenantQuery,
  read: readTenant,
  tenantsOf: ({ tenant }) => [tenant.id],
  tenantIn: (id) => id,
  title: ({ tenant }) => tenant.name,
  show: (facts, view) => <TenantPage facts={facts} view={view} />,
}
