import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import type { SearchItem } from '../../app/support/search-items.ts'
import { holdsSecret, MAX_TEXT_CHARACTERS } from '../../app/support/words.ts'
import { isUnbilled, type LifeKind, lifeKinds, type UnbilledLifeKind } from '../../domain/lives.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { isDate, readTime } from '../../kernel/read-time.ts'
import { success, successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { isSafeInShell } from '../../kernel/plain-text.ts'
import { RequestError } from '../kit/request-error.ts'
import { describeQuery } from './documentation.ts'
import { searchFailures } from './envelope.ts'
import { NameOf, TextOrNull } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'

/** Finds things by an id, its beginning, a name, or a text that holds ids. */

export const DEFAULT_FOUND = 10
export const MAX_FOUND = 50

const DAY_WORDS = 'must be a day: YYYY-MM-DD'
const DAY_MS = 86_400_000

export const SearchQuerySchema = Type.Object({
  q: Type.String({
    minLength: 1,
    maxLength: MAX_TEXT_CHARACTERS,
    words: `must have 1 to ${MAX_TEXT_CHARACTERS.toLocaleString('en')} characters`,
    description:
      'An id, its beginning, a name, words of a note, or a text that holds ids, such as a line of a log.',
  }),
  tenant_id: NameOf('Only of this tenant.'),
  day: Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d\\d-\\d\\d$',
      words: DAY_WORDS,
      description:
        'A day of UTC, `YYYY-MM-DD`: request ids of providers are looked for among the last 20,000 events of the tenant in it.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_FOUND,
      description: `The most items, ${DEFAULT_FOUND} by default.`,
    }),
  ),
})
type SearchQuery = Static<typeof SearchQuerySchema>

const FoundSchema = Type.Object(
  {
    kind: Type.String({
      description: `${lifeKinds.map((kind) => `\`${kind}\``).join(', ')}, \`token\`, \`tenant\`, \`user\`, \`line\`, \`grant\`, \`adjustment\` or \`refused_request\`.`,
    }),
    id: Type.String(),
    matched: Type.String({ description: 'The word of `q` that stands for it.' }),
    tenant_id: Type.String(),
    user_id: Type.Union([Type.String(), Type.Null()]),
    at: Type.String({ description: 'RFC 3339: its beginning.' }),
    state: Type.String({ description: 'In one word, such as `settled`, `failed`, `disabled`.' }),
    summary: Type.String({
      description:
        'The model and the amount, a name, a code; the beginning of the note that the words are of.',
    }),
    path: TextOrNull('Where this API shows it.'),
    command: TextOrNull('The command that shows it to an operator.'),
  },
  { named: 'Found' },
)
type FoundItem = Static<typeof FoundSchema>

const SearchAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(FoundSchema),
    more: Type.Boolean({ description: 'Whether the text stands for more.' }),
    hints: Type.Array(Type.String(), { description: 'What the text itself shows, for people.' }),
  }),
)

/** The histories in which the events of a life are. */
const historiesOf: Readonly<Record<UnbilledLifeKind, 'tasks' | 'assets'>> = {
  asset: 'assets',
  asset_group: 'assets',
  verification: 'assets',
  file: 'tasks',
  upload: 'tasks',
  voice: 'tasks',
}

/** Paths and commands by kind; `id` is encoded in paths, and plain in commands. */
type PathOf = (ids: { readonly id: string; readonly tenantId: string }) => string
const places: Readonly<Record<string, readonly [path: PathOf | undefined, command: PathOf]>> = {
  ...Object.fromEntries(lifeKinds.map((kind) => [kind, ofLife(kind)])),
  token: [undefined, ({ id }) => `tollgate replay ${id}`],
  tenant: [({ id }) => `balance?tenant_id=${id}`, ({ id }) => `tollgate replay --tenant ${id}`],
  user: [
    ({ id, tenantId }) => `logs?tenant_id=${tenantId}&user_id=${id}`,
    ({ id, tenantId }) => `tollgate report logs --tenant ${tenantId} --user ${id}`,
  ],
  line: [({ id }) => `receipts/${id}`, ({ id }) => `tollgate receipt ${id}`],
  grant: ofCredits('grants'),
  adjustment: ofCredits('adjustments'),
  refused_request: [
    ({ id }) => `refusals?request_id=${id}`,
    ({ id }) => `tollgate report refusals --request-id ${id}`,
  ],
}

/** Lives that are not billed are shown by the events of a history. */
function ofLife(kind: LifeKind): readonly [PathOf, PathOf] {
  const path: PathOf = ({ id }) =>
    isUnbilled(kind) ? `${historiesOf[kind]}/${id}/history` : `lives/${id}`
  return [path, ({ id }) => `tollgate replay ${id}`]
}

function ofCredits(list: string): readonly [PathOf, PathOf] {
  return [
    ({ tenantId }) => `${list}?tenant_id=${tenantId}`,
    ({ tenantId }) => `tollgate report ${list} --tenant ${tenantId}`,
  ]
}

function shownItem({ kind, id, tenantId, userId, atMs, ...item }: SearchItem): FoundItem {
  const [path, command] = places[kind] ?? []
  const encoded = { id: encodeURIComponent(id), tenantId: encodeURIComponent(tenantId) }
  const isPlain = isSafeInShell(id) && isSafeInShell(tenantId)
  return {
    kind,
    id,
    matched: item.matched,
    tenant_id: tenantId,
    user_id: userId ?? null,
    at: toTimestamp(atMs),
    state: item.state,
    summary: item.summary,
    path: path === undefined ? null : `/api/query/v1/${path(encoded)}`,
    command: command === undefined || !isPlain ? null : command({ id, tenantId }),
  }
}

function dayOf(text: string | undefined) {
  if (text === undefined) return undefined
  const fromMs = isDate(text) ? readTime(text) : undefined
  if (fromMs === undefined) throw new RequestError('parameter_invalid', `day ${DAY_WORDS}`, 'day')
  return { fromMs, toMs: fromMs + DAY_MS }
}

/**
 * Finds what a text stands for within what the principal may see: `search` of the query API.
 * @throws RequestError for the secret of a token, which is looked up nowhere
 */
export async function readSearch(
  { search }: Pick<QueryServices['support'], 'search'>,
  principal: Principal,
  query: SearchQuery,
) {
  const { q: text, tenant_id: tenantId, limit = DEFAULT_FOUND } = query
  if (holdsSecret(text))
    throw new RequestError(
      'parameter_invalid',
      'this is a token: search for its last four characters, and rotate it',
      'q',
    )
  const visible = visibleTo(principal)
  const scope = narrow(visible, { tenantId, userId: undefined })
  const isOperator = visible.tenantId === undefined
  const day = dayOf(query.day)
  const { items, more, hints } = await search({ text, scope, isOperator, day, limit })
  return { items: items.map(shownItem), more, hints: [...hints] }
}

/** `GET /search`: what an id, a name or a pasted text stands for. */
export function searchRoute(instance: FastifyInstance, { support }: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/search',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'search',
          summary:
            'Find calls, tasks, tokens and the like by an id, a name or a text that holds ids',
          ok: SearchAnswerSchema,
          failures: searchFailures,
        }),
        querystring: SearchQuerySchema,
      },
    },
    async (request, reply) => {
      const found = await readSearch(support, principalOf(request), request.query)
      void reply.header('cache-control', 'no-store')
      return success(found)
    },
  )
}
