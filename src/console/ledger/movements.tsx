import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { MovementsQuerySchema, readMovements } from '../../api/query/movements.ts'
import type { QueryServices } from '../../api/query/services.ts'
import { readZone, type TimeRange } from '../../api/query/time-range.ts'
import type { Principal } from '../../app/access/principal.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { currencies, type Currency } from '../../kernel/money.ts'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import { fieldOf, type FilterField, timeFields } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, findHref, lineHref, linesHref, movementsHref, paths } from '../kit/href.ts'
import { factsOrWords, Panel, type PanelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { LedgerTabs } from '../kit/tabs.tsx'
import { boundedOf, withTime } from '../kit/time-pages.tsx'
import { Facts, grouped, Id, Money, Moment, type ZoneClock } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'

/** Accounts as a bank shows them: credits, usage by day, and the balance after each. */

type Movements = Awaited<ReturnType<Awaited<ReturnType<typeof readMovements>>['page']>>
type Movement = Movements['items'][number]

const { currency, format: _format, bom: _bom, ...members } = MovementsQuerySchema.properties
const query = Type.Object({ ...members, currency: Type.Optional(currency) })
type Query = Static<typeof query>

interface Account {
  readonly currency: Currency
  readonly of: PanelFacts<{ readonly account: Movements; readonly range: TimeRange }>
}

interface MovementsFacts {
  readonly query: Query
  /** Empty where the reader sees several tenants and named none. */
  readonly accounts: readonly Account[]
}

const PART = 'movements'
/** More rows are no page for people. */
const MAX_ROWS = 2_000

const fields: readonly FilterField[] = [...timeFields('ledger'), fieldOf.tenant, fieldOf.currency]

async function read(
  services: QueryServices,
  who: Principal,
  asked: Query,
): Promise<MovementsFacts> {
  const shown = withTime(asked, 'this_month')
  const isOfMany = who.scope?.level === 'all_tenants' && shown.tenant_id === undefined
  // The zone and the time are checked where no account is named too.
  readZone(shown.tz)
  const wanted = isOfMany ? [] : shown.currency === undefined ? currencies : [shown.currency]
  const accounts = await Promise.all(
    wanted.map(async (one) => ({
      currency: one,
      of: await factsOrWords(async () => {
        const { facts, page } = await readMovements(services, who, { ...shown, currency: one })
        return { account: await page(), range: facts }
      }),
    })),
  )
  return { query: shown, accounts }
}

const kinds = {
  grant: 'credit',
  refund: 'refund',
  adjustment: 'correction',
  usage: 'usage',
} as const

/** The lines of a day of the account. */
function linesOf(asked: Query, { tenant_id, currency: of, as_of }: Movements, date: string) {
  const zone = readZone(asked.tz)
  const startMs = zone.startOf(date)
  const [day] = zone.daysBetween(startMs, startMs + 1)
  return linesHref({
    tenant_id,
    currency: of,
    as_of,
    tz: asked.tz,
    from: toTimestamp(startMs),
    to: toTimestamp(day?.toMs ?? startMs),
  })
}

/** A link to the call, task or grant that moved the money. */
function About({
  one,
  asked,
  account,
}: {
  readonly one: Movement
  readonly asked: Query
  readonly account: Movements
}): JSX.Element {
  const { line_id: line, id, kind, lines, date } = one
  if (kind === 'usage')
    return (
      <a href={linesOf(asked, account, date)}>
        {grouped(String(lines))} {lines === 1 ? 'line' : 'lines'}
      </a>
    )
  if (line !== null) return <Id id={line} href={lineHref(line, { tz: asked.tz })} />
  return id === null ? <></> : <Id id={id} href={findHref({ q: id })} />
}

/** The words of a credit: why it was given, and for which payment. */
function wordsOf({ description, reason, reference, kind, line_id: line }: Movement): string {
  // The line stands in its own cell.
  const what = line === null && kind !== 'usage' ? description : kind === 'usage' ? description : ''
  return [what, reason, reference === null ? '' : `reference ${reference}`]
    .filter((text) => text !== null && text !== '')
    .join(', ')
}

function columnsOf(
  asked: Query,
  account: Movements,
  clock: ZoneClock,
  from: string,
): readonly TableColumn<Movement>[] {
  return [
    {
      name: 'time',
      cell: ({ posted_at: at, date }) =>
        at === null ? (
          <time datetime={date}>
            <span class="day">{clock.day(readZone(asked.tz).startOf(date))}</span>
          </time>
        ) : (
          <Moment atMs={fromTimestamp(at)} clock={clock} />
        ),
    },
    { name: 'kind', narrow: 'lead', cell: ({ kind }) => kinds[kind] },
    { name: 'reason', cell: wordsOf },
    { name: 'source', cell: (one) => <About one={one} asked={asked} account={account} /> },
    { name: 'amount', money: ({ amount }) => ({ amount, from }) },
    { name: 'balance after', money: ({ balance }) => ({ amount: balance, from }) },
  ]
}

/** Links to the months around the shown time; a statement is read month by month. */
function Months({
  asked,
  range: { fromMs, toMs },
  nowMs,
}: {
  readonly asked: Query
  readonly range: TimeRange
  readonly nowMs: number
}): JSX.Element {
  const zone = readZone(asked.tz)
  const { time_preset: _preset, start_time: _start, end_time: _end, ...others } = asked
  const hrefAt = (atMs: number): string => {
    const month = zone.monthAt(atMs)
    const [from, to] = [toTimestamp(month.fromMs), toTimestamp(month.toMs)]
    return movementsHref({ ...others, from, to })
  }
  return (
    <p class="pager">
      {fromMs === undefined || fromMs <= 0 ? null : (
        <a class="button" href={hrefAt(fromMs - 1)}>
          Month before
        </a>
      )}
      {toMs === undefined || toMs > nowMs ? null : (
        <a class="button" href={hrefAt(toMs)}>
          Month after
        </a>
      )}
    </p>
  )
}

function AccountPanel({
  account,
  range,
  asked,
  clock,
}: {
  readonly account: Movements
  readonly range: TimeRange
  readonly asked: Query
  readonly clock: ZoneClock
}): JSX.Element {
  const { start_time: _start, end_time: _end, ...others } = asked
  const conditions = {
    ...boundedOf(others, range),
    tenant_id: account.tenant_id,
    currency: account.currency,
  }
  const from = apiPath('/movements', { ...conditions, as_of: account.as_of })
  const { items, currency: of } = account
  return (
    <div class="movements">
      <Facts
        facts={[
          ['opening balance', <Money amount={account.opening} currency={of} from={from} />],
          ['closing balance', <Money amount={account.closing} currency={of} from={from} />],
        ]}
      />
      {items.length > MAX_ROWS ? (
        <p class="note">
          {grouped(String(items.length))} movements do not fit on a page. Choose a shorter time.
        </p>
      ) : (
        <Table
          label={`Movements in ${of}`}
          columns={columnsOf(asked, account, clock, from)}
          rows={items}
          keyOf={({ id, date }) => id ?? date}
          empty="No movements in this time. Choose a longer time."
        />
      )}
      <Download page={movementsHref()} query={conditions} asOf={account.as_of} from={from} />
    </div>
  )
}

function MovementsPage({
  facts,
  view,
}: {
  readonly facts: MovementsFacts
  readonly view: View
}): JSX.Element {
  const { query: asked, accounts } = facts
  const { clock, nowMs } = view
  const range = accounts.flatMap(({ of }) => ('why' in of ? [] : [of.facts.range]))[0]
  return (
    <>
      <h1 class="title">Ledger</h1>
      <LedgerTabs at={paths.movements} token={view.token} asked={asked} />
      <FilterForm action={movementsHref()} part={PART} fields={fields} values={asked} />
      <div id={PART} aria-live="polite">
        {accounts.length === 0 ? (
          <p class="panel note">
            Name a tenant: each account belongs to one tenant and has one currency.
          </p>
        ) : null}
        {accounts.map(({ currency: one, of }) => (
          <Panel key={one} id={`account-${one}`} title={`Account in ${one}`}>
            {'why' in of ? (
              <p class="note">{of.why}</p>
            ) : (
              <AccountPanel {...of.facts} asked={asked} clock={clock} />
            )}
          </Panel>
        ))}
        {range === undefined ? null : <Months asked={asked} range={range} nowMs={nowMs} />}
      </div>
    </>
  )
}

const fileQuery = Type.Object({ ...members, currency })

/** All movements of an account. */
export const movementsFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: async (services, who, { query: asked }) => {
    const account = await readMovements(services, who, withTime(asked, 'this_month'))
    return { list: withFiles(account, true), tenantIds: [asked.tenant_id] }
  },
}

/** Movements of this month, unless another time is asked for. */
export const movementsPage: Page<typeof query, MovementsFacts> = {
  path: paths.movements,
  roles: ['finance'],
  query,
  read: (services, who, { query: asked }) => read(services, who, asked),
  tenantsOf: ({ query: { tenant_id: tenantId } }) => [tenantId],
  filter: () => ({ title: 'Ledger', action: movementsHref(), part: PART, fields: fields }),
  title: () => 'Movements',
  show: (facts, view) => <MovementsPage facts={facts} view={view} />,
}
