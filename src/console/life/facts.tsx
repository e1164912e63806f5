import type { ComponentChildren, JSX } from 'preact'
import { resultWords } from '../../api/query/lives/reply.ts'
import { lifeVerdictOf } from '../../api/query/lives/ticket.ts'
import { isOperator } from '../../domain/token/events.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { activityHref, bookHref, findHref, overviewHref, tokenHref } from '../kit/href.ts'
import { hasLabels, Labels } from '../kit/lines.tsx'
import { Panel } from '../kit/panel.tsx'
import { Facts, Id, sentenceInZone, Moment, State } from '../kit/values.tsx'
import type { LifeView } from './panels.tsx'

/** The verdict of a life, whose it is, and the details of its request. */

type Fact = readonly [name: string, value: ComponentChildren]

/** A name that leads somewhere, with its id where the name is another text. */
function Named({
  id,
  name,
  href,
}: {
  readonly id: string
  readonly name: string | undefined
  readonly href: string
}): JSX.Element {
  return (
    <a href={href} title={id}>
      {name ?? id}
    </a>
  )
}

/** Whose life it is, and how long it took; each leads to its page. */
function ownerFacts({ life, names, tz, token: reader }: LifeView): readonly Fact[] {
  const {
    receipt,
    tenant_id: tenantId,
    user_id: userId,
    duration_ms: tookMs,
    first_byte_ms: firstByteMs,
  } = life
  const activity = (query: Readonly<Record<string, string>>) =>
    activityHref(tenantId, { ...query, tz })
  const tenant = (
    <Named id={tenantId} name={names.tenant} href={overviewHref({ tenant_id: tenantId, tz })} />
  )
  const facts: (Fact | undefined)[] = [
    ['state', <State word={life.state} />],
    receipt === null ? undefined : ['model', receipt.model],
    tookMs === null ? undefined : ['took', formatDuration(tookMs)],
    firstByteMs === null ? undefined : ['first byte after', formatDuration(firstByteMs)],
    ['tenant', tenant],
    userId === null
      ? undefined
      : ['user', <Named id={userId} name={names.user} href={activity({ user_id: userId })} />],
    receipt === null
      ? undefined
      : [
          'token',
          <Named
            id={receipt.token_id}
            name={names.token}
            href={
              reader.kind === 'admin' && reader.role !== 'finance'
                ? tokenHref(receipt.token_id, { tz })
                : activity({ token_id: receipt.token_id })
            }
          />,
        ],
  ]
  return facts.filter((fact) => fact !== undefined)
}

/** The verdict first: what a reader in a hurry came for. */
export function Verdict(view: LifeView): JSX.Element {
  const { life } = view
  return (
    <section class={`verdict ${life.state}`} aria-label="Verdict">
      <p class="eyebrow">
        {life.kind.replaceAll('_', ' ')} · <Id id={life.id} />
      </p>
      <h1>{sentenceInZone(lifeVerdictOf(life), view.clock)}</h1>
      {life.aside.map((sentence) => (
        <p key={sentence} class="aside">
          {sentence}
        </p>
      ))}
      <Facts facts={ownerFacts(view)} />
    </section>
  )
}

/** Facts of the request: its ids, its price book, its labels, and what is kept of it. */
function requestFacts(view: LifeView): readonly Fact[] {
  const { life, clock, tz, token: reader } = view
  const { receipt, result, deadline_at: deadline, last_asked_at: asked, polls } = life
  if (receipt === null) return []
  const { price_book_version: book, native_id: nativeId } = receipt
  const facts: (Fact | undefined)[] = [
    ['request', <Id id={receipt.request_id} href={findHref({ q: receipt.request_id })} />],
    nativeId === null ? undefined : ['id at the provider', <Id id={nativeId} />],
    ['route', <code>{receipt.surface}</code>],
    book === null
      ? undefined
      : [
          'price book',
          isOperator(reader) && reader.role !== 'support' ? (
            <a href={bookHref(book, { tz })}>{book}</a>
          ) : (
            book
          ),
        ],
    hasLabels(receipt)
      ? [
          'for',
          <Labels
            line={{ ...receipt, tenant_id: life.tenant_id }}
            tz={tz}
            isLinked={reader.role !== 'support'}
          />,
        ]
      : undefined,
    life.attempts > 1 ? ['attempts', String(life.attempts)] : undefined,
    polls === null ? undefined : ['polls', String(polls)],
    asked === null
      ? undefined
      : ['last asked', <Moment atMs={fromTimestamp(asked)} clock={clock} precision="s" />],
    deadline === null
      ? undefined
      : ['deadline', <Moment atMs={fromTimestamp(deadline)} clock={clock} precision="s" />],
    [
      'result',
      result === null
        ? life.duration_ms === null
          ? 'There is none yet.'
          : 'There is none.'
        : sentenceInZone(
            resultWords(result, (timestamp) => timestamp),
            clock,
          ),
    ],
    ['prompt', 'Prompts and media of requests are not kept.'],
  ]
  return facts.filter((fact) => fact !== undefined)
}

/** The details of a request, and what is kept of it. */
export function Details(view: LifeView): JSX.Element | null {
  const facts = requestFacts(view)
  if (facts.length === 0) return null
  return (
    <Panel id="details" title="Details">
      <Facts facts={facts} />
    </Panel>
  )
}
