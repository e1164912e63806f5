import type { JSX } from 'preact'
import type { VoidedStatement } from '../../app/finance/statements/document/documents.ts'
import { isOperator } from '../../domain/token/events.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { paths, periodHref, periodIn, periodsHref, tenantHref } from '../kit/href.ts'
import { Panel } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Facts, Moment } from '../kit/values.tsx'
import { lineColumns } from '../kit/lines.tsx'
import type { Page, View } from '../page.tsx'
import { BlockerOf } from './blockers.tsx'
import { Figures, MonthLink, Refunds } from './figures.tsx'
import { Files, PreviewFiles, VoidedFiles } from './files.tsx'
import type { LateFailures } from './late-failures.ts'
import { MAX_LATE_LINES, type MonthFacts, monthQuery, readMonth } from './month-facts.ts'
import { MonthForms } from './month-forms.tsx'
import { monthInWords } from './names.ts'
import { ASKS_EVERY } from './progress.ts'

/** One month of an account: its statement with its files, or what it will have and what blocks it. */

const PART = 'month'

interface Props {
  readonly facts: MonthFacts
  readonly view: View
}

type Person = { readonly tenantId: string; readonly userId: string }
const personOf = (by: Person | null | undefined): string =>
  by === null || by === undefined ? 'command line' : `${by.userId} of ${by.tenantId}`

function stateWords({ state, progress }: MonthFacts): readonly [kind: string, words: string] {
  if (state.kind === 'closed') {
    const { voidProposal } = state.statement
    return voidProposal === undefined
      ? ['settled', `Closed: statement ${state.period.statement}.`]
      : ['unknown', `Closed: statement ${state.period.statement}. A void is proposed.`]
  }
  if (progress?.asks === true) return ['running', 'Being closed.']
  const { blockers, failure } = state
  if (failure !== undefined) return ['not_billed', `Not closed: ${failure}`]
  if (blockers.length === 0) return ['running', 'Open, and ready to be closed.']
  return ['unknown', 'Open, and blocked.']
}

/** Says how the form ended, where that is not plain to see. */
function Outcome({ facts }: { readonly facts: MonthFacts }): JSX.Element | null {
  const { of, query, state, progress } = facts
  if (query.found === 'closed' && state.kind === 'closed')
    return (
      <p class="panel notice" role="status">
        The month was closed before your form came: the form changed nothing.
      </p>
    )
  if (progress === undefined || state.kind === 'closed') return null
  if (progress.asks)
    return (
      <p class="panel notice" role="status">
        The month is being closed: its postings are summed and signed, which takes some seconds for
        a million. This page asks again by itself; without script,{' '}
        <a href={periodHref(of, { ...query })}>look again</a>.
      </p>
    )
  return state.failure === undefined ? (
    <p class="panel notice" role="status">
      The month was not closed within five minutes. Send the form again: it joins a close that goes
      on, or says what blocks it.
    </p>
  ) : null
}

function Verdict({ facts, view }: Props): JSX.Element {
  const { of, state } = facts
  const [kind, words] = stateWords(facts)
  const { token, clock } = view
  const tenant =
    token.kind === 'admin' ? <a href={tenantHref(of.tenantId)}>{of.tenantId}</a> : of.tenantId
  const source =
    state.kind === 'closed'
      ? state.statement.source
      : state.preview !== undefined && 'facts' in state.preview
        ? state.preview.facts
        : undefined
  const bounds =
    source === undefined
      ? []
      : ([
          ['from', source.period.from.slice(0, 10)],
          ['before', source.period.to.slice(0, 10)],
          ['zone', source.period.timeZone],
        ] as const)
  const closing =
    state.kind === 'closed'
      ? ([
          ['closed', <Moment atMs={fromTimestamp(state.period.closedAt)} clock={clock} />],
          ...(isOperator(token) ? [['by', personOf(state.period.by)] as const] : []),
        ] as const)
      : []
  return (
    <section class={`verdict ${kind}`}>
      <p class="eyebrow">
        {tenant} · {of.currency} · {monthInWords(of.month)}
      </p>
      <h1>{words}</h1>
      <Facts facts={[...bounds, ...closing]} />
    </section>
  )
}

function Blockers({ facts, view }: Props): JSX.Element | null {
  const { of, state } = facts
  if (state.kind === 'closed' || state.blockers.length === 0) return null
  return (
    <Panel id="blockers" title="Blockers">
      <ul class="reasons">
        {state.blockers.map((blocker) => (
          <li key={blocker.code}>
            <BlockerOf blocker={blocker} of={of} view={view} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

/** Everything about the close that is not a figure: what was passed, and a proposal to void it. */
function About({ facts, view }: Props): JSX.Element | null {
  const { state } = facts
  const { clock, token } = view
  const time = (at: string) => <Moment atMs={fromTimestamp(at)} clock={clock} />
  if (state.kind === 'open') return null
  const { voidProposal } = state.statement
  const { despite, position, root } = state.period
  return (
    <>
      {voidProposal === undefined ? null : (
        <Panel id="void" title="Proposal to void">
          <Facts
            facts={[
              ['reason', voidProposal.reason],
              ...(isOperator(token) ? [['proposed by', personOf(voidProposal.by)] as const] : []),
              ['proposed', time(voidProposal.proposedAt)],
              ['lapses', time(voidProposal.expiresAt)],
            ]}
          />
        </Panel>
      )}
      <Panel id="proof" title="Proof">
        <Facts
          facts={[
            ['position in the log', position],
            ['root', <code>{root}</code>],
            ...(despite === undefined
              ? []
              : ([
                  ['closed in spite of', despite.codes.join(', ')],
                  ['reason', despite.reason],
                ] as const)),
          ]}
        />
      </Panel>
    </>
  )
}

/** Statements of the month that are void: customers may have them. */
function Voided({ facts, view }: Props): JSX.Element | null {
  const { of, voided } = facts
  if (voided.length === 0) return null
  const columns: readonly TableColumn<VoidedStatement>[] = [
    { name: 'statement', narrow: 'lead', cell: ({ statement }) => statement },
    {
      name: 'void since',
      cell: ({ at }) => <Moment atMs={fromTimestamp(at)} clock={view.clock} />,
    },
    { name: 'reason', cell: ({ reason }) => reason },
    { name: 'files', cell: ({ statement }) => <VoidedFiles of={of} number={statement} /> },
  ]
  return (
    <Panel id="voided" title="Void statements">
      <Table
        label="Void statements of the month"
        columns={columns}
        rows={voided}
        keyOf={({ statement }) => statement}
        empty=""
      />
    </Panel>
  )
}

/** The first of the lines that are dated before the month. */
function LateLines({ facts, view }: Props): JSX.Element | null {
  const { lateLines, query } = facts
  if (lateLines === undefined) return null
  return (
    <Panel id="late" title="Late lines">
      {'why' in lateLines ? (
        <p class="note">{lateLines.why}</p>
      ) : (
        <>
          <Table
            label="Lines dated before the month"
            columns={lineColumns(view.clock, query.tz)}
            rows={lateLines.facts}
            keyOf={({ line_id: id }) => id}
            empty="The late postings are credits and refunds."
          />
          {lateLines.facts.length < MAX_LATE_LINES ? null : (
            <p class="note">
              The newest {MAX_LATE_LINES}; the files of the closed month have all of them.
            </p>
          )}
        </>
      )}
    </Panel>
  )
}

function Body({ facts }: { readonly facts: MonthFacts }): JSX.Element {
  const { of, state, keys } = facts
  if (state.kind === 'closed')
    return (
      <>
        <Figures source={state.statement.source} />
        <Refunds source={state.statement.source} />
        <Files of={of} number={state.period.statement} keys={keys} />
      </>
    )
  const { preview } = state
  if (preview === undefined)
    return (
      <p class="panel note">
        The figures begin with the closing balance of the month before, which is not closed.
      </p>
    )
  if ('why' in preview) return <p class="panel note">{preview.why}</p>
  return (
    <>
      <Figures source={preview.facts} />
      <Refunds source={preview.facts} />
      <PreviewFiles of={of} />
    </>
  )
}

function MonthView({ facts, view }: Props): JSX.Element {
  const { of, query, before, after, progress } = facts
  const asks =
    progress?.asks === true
      ? {
          'hx-get': periodHref(of, { ...query, since: progress.since }),
          'hx-trigger': ASKS_EVERY,
          'hx-target': `#${PART}`,
          'hx-select': `#${PART}`,
          'hx-swap': 'outerMorph',
        }
      : {}
  const { tz } = query
  return (
    <div id={PART} {...asks}>
      <Outcome facts={facts} />
      <Verdict facts={facts} view={view} />
      <nav class="pager" aria-label="Months">
        {before === undefined ? null : (
          <MonthLink of={of} month={before} tz={tz}>
            {monthInWords(before)}
          </MonthLink>
        )}
        {after === undefined ? null : (
          <MonthLink of={of} month={after} tz={tz}>
            {monthInWords(after)}
          </MonthLink>
        )}
        <a class="button" href={periodsHref({ month: of.month, tz })}>
          All accounts
        </a>
      </nav>
      <Blockers facts={facts} view={view} />
      <Body facts={facts} />
      <LateLines facts={facts} view={view} />
      <Voided facts={facts} view={view} />
      <About facts={facts} view={view} />
      <MonthForms facts={facts} view={view} />
    </div>
  )
}

export const monthPage = (failures: LateFailures): Page<typeof monthQuery, MonthFacts> => ({
  path: paths.period,
  roles: ['finance'],
  query: monthQuery,
  read: (services, who, asked) => readMonth(services, who, asked, failures),
  tenantsOf: ({ of }) => [of.tenantId],
  tenantIn: (id) => periodIn(id).tenantId,
  title: ({ of }) => `${monthInWords(of.month)}, ${of.tenantId}, ${of.currency}`,
  show: (facts, view) => <MonthView facts={facts} view={view} />,
})
