import type { FastifyInstance } from 'fastify'
import type { JSX } from 'preact'
import { Type } from 'typebox'
import { readSearch, SearchQuerySchema } from '../../api/query/search.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import type { Principal } from '../../app/access/principal.ts'
import { holdsSecret } from '../../app/support/words.ts'
import { isLifeKind } from '../../domain/lives.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { fieldReader, writtenIn } from '../form-routes.ts'
import {
  activityHref,
  findHref,
  lifeHref,
  lineHref,
  overviewHref,
  paths,
  tokenHref,
  zoneIn,
} from '../kit/href.ts'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Command, Id, Moment } from '../kit/values.tsx'
import { answerPage, type ConsoleServices, type Page, Redirect, type View } from '../page.tsx'
import { secretHref } from '../session/guard.ts'

type Found = Awaited<ReturnType<typeof readSearch>>
type FoundItem = Found['items'][number]

interface Asked extends Found {
  readonly word: string
  /** The tenant that was named. */
  readonly tenantId: string | undefined
}

/** Undefined: nothing was looked for yet. */
type FindFacts = Asked | 'secret' | undefined

/** The page of what was found, which the reader may see; undefined where the console has none. */
function hrefOfItem(
  { kind, id, tenant_id: tenantId }: FoundItem,
  { kind: ofReader, role }: Pick<Principal, 'kind' | 'role'>,
  tz: string | undefined,
): string | undefined {
  if (isLifeKind(kind)) return lifeHref(id, { tz })
  if (kind === 'line')
    return role === 'support' ? lifeHref(id.replace(/:\d+$/, ''), { tz }) : lineHref(id, { tz })
  if (kind === 'token' && ofReader === 'admin' && role !== 'finance') return tokenHref(id, { tz })
  if (kind === 'token') return activityHref(tenantId, { token_id: id, tz })
  if (kind === 'tenant') return overviewHref({ tenant_id: id, tz })
  return kind === 'user' ? activityHref(tenantId, { user_id: id, tz }) : undefined
}

/** Examples of what can be looked for, each with what it opens. */
const examples = [
  ['call_… video_… image_… speech_…', 'the id of a call or a task, or the beginning of one'],
  ['chatcmpl-… resp_… cgt-…', 'the id of an answer, or of a task at its provider'],
  ['req_…', 'the x-request-id of an answer, or of a refusal'],
  ['Bs5k', 'the last four characters of a token'],
  ['acme, ann, batch jobs', 'the name or the id of a tenant, a user or a token'],
  ['PO-2026-4711', 'the reference of a grant, or the beginning of one'],
  ['promised by Friday', 'words of a note about a life'],
  ['{"error":{"message":…}}', 'a whole error or log line: the ids in it are found'],
] as const

/** The page for those who pasted a secret: nothing of it was kept. */
function Secret(): JSX.Element {
  return (
    <section class="panel problem" role="alert">
      <h1>That was the secret of a token</h1>
      <p>
        It was not looked up, and neither this page, its address nor the log of the gateway has it.
        To find the token, search for the last four characters of its secret.
      </p>
      <p class="note">
        Rotate the token if others may have seen the secret: on the page of the token, or with{' '}
        <Command>tollgate token rotate</Command>.
      </p>
    </section>
  )
}

function Tips(): JSX.Element {
  return (
    <section class="panel start">
      <h1>What are you looking for?</h1>
      <p>
        Type it into the field above and press Enter: an id, the beginning of an id, a name, or any
        text from a customer.
      </p>
      <dl class="examples">
        {examples.map(([example, opens]) => (
          <div key={example}>
            <dt>
              <code>{example}</code>
            </dt>
            <dd>{opens}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

/** Where a reason must be given before more than the ids of an item is shown; tenants are listed without one. */
const viewReasonForItem = ({ kind, tenant_id: tenant }: FoundItem, { viewReasonFor }: View) =>
  kind === 'tenant' ? undefined : viewReasonFor(tenant)

/** Shows the summary of an item, or the link to the form that asks for a reason first. */
function About({ item, view }: { readonly item: FoundItem; readonly view: View }): JSX.Element {
  const reasonHref = viewReasonForItem(item, view)
  return reasonHref === undefined ? (
    <>{item.summary}</>
  ) : (
    <a href={reasonHref}>give a reason to view it</a>
  )
}

function columnsIn(view: View): readonly TableColumn<FoundItem>[] {
  const { clock, token } = view
  const isShown = (item: FoundItem): boolean => viewReasonForItem(item, view) === undefined
  const tz = clock.zone === 'UTC' ? undefined : clock.zone
  return [
    { name: 'kind', cell: ({ kind }) => kind.replaceAll('_', ' ') },
    {
      name: 'id',
      narrow: 'lead',
      cell: (item) => <Id id={item.id} href={hrefOfItem(item, token, tz)} />,
    },
    {
      name: 'owner',
      cell: (item) =>
        item.user_id === null || !isShown(item)
          ? item.tenant_id
          : `${item.tenant_id}, ${item.user_id}`,
    },
    {
      name: 'started',
      cell: (item) => (isShown(item) ? <Moment atMs={fromTimestamp(item.at)} clock={clock} /> : ''),
    },
    { name: 'state', cell: (item) => (isShown(item) ? item.state : '') },
    { name: 'summary', cell: (item) => <About item={item} view={view} /> },
    {
      name: 'command',
      narrow: 'drop',
      cell: ({ command }) => (command === null ? '' : <Command>{command}</Command>),
    },
  ]
}

function Nothing({ word }: { readonly word: string }): JSX.Element {
  return (
    <>
      No record that this token may see matches <code>{word.slice(0, 200)}</code>. An id can be
      shortened to its kind and six characters (<code>call_01M8BM</code>); a name needs two letters,
      and the last four of a token exactly four.
    </>
  )
}

function FindPage({ found, view }: { readonly found: Asked; readonly view: View }): JSX.Element {
  const { items, hints, more, word } = found
  return (
    <section class="panel" aria-labelledby="found">
      <h1 id="found">
        {items.length === 0 ? 'Nothing found' : `Found for “${word.slice(0, 80)}”`}
      </h1>
      {hints.map((hint) => (
        <p key={hint} class="note">
          {hint}
        </p>
      ))}
      <Table
        label="Results"
        columns={columnsIn(view)}
        rows={items}
        keyOf={({ kind, id }) => `${kind} ${id}`}
        empty={<Nothing word={word} />}
      />
      {more ? (
        <p class="note">There are more results. Add characters, or the id of the tenant.</p>
      ) : null}
    </section>
  )
}

const query = Type.Object({
  ...SearchQuerySchema.properties,
  q: Type.Optional(SearchQuerySchema.properties.q),
  refused: Type.Optional(Type.Literal('secret', { description: 'What was not looked for.' })),
  tz: timeRangeMembers.tz,
})

/** Finds what an id, a name or a pasted text stands for; one hit alone is opened at once. */
export const findPage: Page<typeof query, FindFacts> = {
  path: paths.find,
  roles: ['finance', 'support'],
  query,
  read: async ({ support }, who, { token, query: { tz, q, refused, ...asked } }) => {
    if (q === undefined) return refused
    const found = await readSearch(support, who, { ...asked, q })
    const [only, second] = found.items
    const href =
      only === undefined || second !== undefined ? undefined : hrefOfItem(only, token, tz)
    if (href !== undefined && !found.more) return new Redirect(href)
    return { ...found, word: q, tenantId: asked.tenant_id }
  },
  tenantsOf: (found) => (typeof found === 'object' ? [found.tenantId] : []),
  title: (found) => (typeof found === 'object' ? `${found.word.slice(0, 40)} – find` : 'Find'),
  word: (found) => (typeof found === 'object' ? found.word : ''),
  show: (found, view) => {
    if (found === undefined) return <Tips />
    return found === 'secret' ? <Secret /> : <FindPage found={found} view={view} />
  },
}

/** Four thousand characters of three bytes, each escaped. */
const MAX_WORD_BYTES = 36_000 + 1_024
/** Longer addresses are refused by servers on the way. */
const MAX_ADDRESS = 6_000

const readWord = fieldReader(Type.Object({ q: query.properties.q, tz: query.properties.tz }))

/**
 * Takes the text of the search field by POST, and leads to its address: a secret that was pasted is seen before
 * it stands in an address, or in the log of a proxy.
 */
export function findRoute(app: FastifyInstance, services: ConsoleServices): void {
  app.post(
    paths.find,
    {
      config: { roles: findPage.roles, startsNothing: true },
      bodyLimit: MAX_WORD_BYTES,
      schema: { hide: true },
    },
    (request, reply) => {
      const { q: word } = writtenIn(request, ['q'])
      const tz = zoneIn(request.url)
      if (word === undefined || word === '') return reply.redirect(findHref({ tz }), 303)
      if (holdsSecret(word)) return reply.redirect(secretHref(), 303)
      const asked = readWord({ q: word.replaceAll('\0', ' '), tz: tz ?? '' })
      const href = findHref(asked)
      if (href.length <= MAX_ADDRESS) return reply.redirect(href, 303)
      return answerPage(services, findPage, request, reply, { id: '', query: asked })
    },
  )
}
