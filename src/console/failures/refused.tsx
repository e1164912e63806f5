import type { JSX } from 'preact'
import { Type } from 'typebox'
import { wordsOfCode } from '../../api/kit/failures/failure-table.ts'
import { RequestError } from '../../api/kit/request-error.ts'
import { readRefusals } from '../../api/query/refusals.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import {
  failedHref,
  findHref,
  paths,
  refusedRequestHref,
  tenantHref,
  tokenHref,
} from '../kit/href.ts'
import { Panel } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Facts, grouped, Id, Moment } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'

/** One refused request: why, what refused it, whose it was, and what else its token was refused. */

type Counts = Awaited<ReturnType<Awaited<ReturnType<typeof readRefusals>>['page']>>['items']
type Sample = Counts[number]['samples'][number]

interface RefusedRequest extends Sample {
  readonly count: Counts[number]
}

interface Shown {
  readonly tz: string | undefined
  readonly request: RefusedRequest
  /** The newest refused requests of the same token. */
  readonly others: readonly RefusedRequest[]
}

const query = Type.Object({ tz: timeRangeMembers.tz })
const MOST_OTHERS = 10
/** Counts of a token that are read for its last requests: an hour, route and code has one each. */
const COUNTS_READ = 20

const requestsIn = (counts: Counts): readonly RefusedRequest[] =>
  counts
    .flatMap((count) => count.samples.map((sample) => ({ ...sample, count })))
    .sort((one, other) => fromTimestamp(other.at) - fromTimestamp(one.at))

/** The page that has what refused a request of this code; undefined where there is none. */
function remedyOf({ code, tenant_id: tenantId }: Counts[number], isAdmin: boolean) {
  if (!isAdmin) return undefined
  const tenant = tenantHref(tenantId)
  if (code === 'rate_limited') return { href: `${tenant}#limits`, words: 'Limits of the tenant' }
  if (code === 'budget_reached')
    return { href: `${tenant}#budgets`, words: 'Budgets of the tenant' }
  if (code === 'insufficient_balance') return { href: tenant, words: 'Balances of the tenant' }
  return undefined
}

function RequestPanel({ facts, view }: { readonly facts: Shown; readonly view: View }) {
  const { request } = facts
  const { count } = request
  const { code, route, tenant_id: tenantId, token_id: tokenId, token_last_four: last } = count
  const isAdmin = view.token.kind === 'admin'
  const remedy = remedyOf(count, isAdmin)
  const meaning = (code === null ? undefined : wordsOfCode(code)) ?? 'It was refused'
  return (
    <Panel id="why" title={meaning}>
      {request.why === null ? null : <p>{request.why}.</p>}
      <Facts
        facts={[
          ['code', <code>{code ?? 'any'}</code>],
          ['time', <Moment atMs={fromTimestamp(request.at)} clock={view.clock} />],
          ['route', route ?? 'any'],
          ...(request.param === null ? [] : [['at fault', <code>{request.param}</code>] as const]),
          ['tenant', isAdmin ? <a href={tenantHref(tenantId)}>{tenantId}</a> : tenantId],
          ['user', count.user_id],
          [
            'token',
            <>
              <Id id={tokenId} href={isAdmin ? tokenHref(tokenId) : undefined} />
              {last === null ? '' : ` …${last}`}
            </>,
          ],
          ['refused so in this hour', grouped(String(count.count))],
        ]}
      />
      <p class="note">
        {remedy === undefined ? null : (
          <>
            <a href={remedy.href}>{remedy.words}</a> has what refused it.{' '}
          </>
        )}
        <a href={findHref({ q: request.request_id })}>Find</a> the request elsewhere.
      </p>
    </Panel>
  )
}

const columnsAt = ({ clock }: View): readonly TableColumn<RefusedRequest>[] => [
  { name: 'time', cell: ({ at }) => <Moment atMs={fromTimestamp(at)} clock={clock} /> },
  {
    name: 'request',
    narrow: 'lead',
    cell: ({ request_id: id }) => <Id id={id} href={refusedRequestHref(id)} />,
  },
  { name: 'code', cell: ({ count }) => <code>{count.code ?? 'any'}</code> },
  { name: 'route', cell: ({ count }) => count.route ?? 'any' },
  { name: 'why', cell: ({ why, param }) => why ?? param ?? '' },
]

function RefusedPage({ facts, view }: { readonly facts: Shown; readonly view: View }): JSX.Element {
  const { request, others } = facts
  const ofToken = failedHref({ token_id: request.count.token_id, tz: facts.tz })
  return (
    <>
      <h1 class="title">Refused request {request.request_id}</h1>
      <RequestPanel facts={facts} view={view} />
      <Panel id="others" title="Last refused requests of this token">
        <Table
          label="Last refused requests of this token"
          columns={columnsAt(view)}
          rows={others}
          keyOf={({ request_id: id }) => id}
          empty="There is no other."
        />
        <p class="note">
          Of each hour, route and code the last five requests are kept.{' '}
          <a href={ofToken}>All counts of the token</a>
        </p>
      </Panel>
    </>
  )
}

/** A refused request, as far as it is among the last of its count. */
export const refusedPage: Page<typeof query, Shown> = {
  path: paths.refusedRequest,
  roles: ['finance', 'support'],
  query,
  read: async (services, who, { id, query: { tz } }) => {
    const found = await (await readRefusals(services, who, { request_id: id, limit: 1 })).page()
    const request = requestsIn(found.items).find(({ request_id: each }) => each === id)
    if (request === undefined)
      throw new RequestError(
        'route_not_found',
        'No refused request has this id, or newer ones of its token have taken its place',
      )
    const { tenant_id, token_id } = request.count
    const asked = { tenant_id, token_id, limit: COUNTS_READ }
    const ofToken = await (await readRefusals(services, who, asked)).page()
    const others = requestsIn(ofToken.items)
      .filter(({ request_id: each }) => each !== id)
      .slice(0, MOST_OTHERS)
    return { tz, request, others }
  },
  tenantsOf: ({ request }) => [request.count.tenant_id],
  title: ({ request }) => `Refused request ${request.request_id}`,
  show: (facts, view) => <RefusedPage facts={facts} view={view} />,
}
