import { type Static, Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import { didYouMean } from '../../kernel/nearest-name.ts'
import type { FileFacts } from '../kit/answers/files.ts'
import { foreignCursor, fromCursor, listKeyOf } from '../kit/routes/queries.ts'
import { RequestError } from '../kit/request-error.ts'
import { cursorList, fileMembers } from '../kit/answers/lists.ts'
import { toPosition } from './as-of.ts'
import type { LedgerFilter } from './reads.ts'
import { AsOf, NameOf, Since } from './schemas.ts'
import { narrow, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { readTimeRange, readZone, type TimeRange, timeRangeMembers } from './time-range.ts'

/** The parameters of reports: the same words for every list, of which each takes those that it can use. */

/** Conditions of one request: each reads one more value of a line. */
const MAX_TAGS = 8

export const TagQuery = Type.String({ maxLength: 256 })

/** Parameters of lists of what belongs to a tenant as a whole. */
export const accountMembers = {
  ...timeRangeMembers,
  tenant_id: NameOf('Only of this tenant.'),
  currency: Type.Optional(Type.Enum(['CNY', 'USD'], { description: 'Only in this currency.' })),
  as_of: Type.Optional(AsOf),
  since: Type.Optional(Since),
  ...fileMembers,
} as const

/** Parameters of lists of lines and of what is summed of these. */
export const reportMembers = (surfaceNames: readonly string[]) => ({
  ...accountMembers,
  user_id: NameOf('Only requests of this user.'),
  token_id: NameOf('Only requests with this token.'),
  model: NameOf('Only of this model, by its external name.'),
  sku: NameOf('Only lines of this SKU.'),
  surface: Type.Optional(Type.Enum([...surfaceNames])),
  source_id: NameOf('Only of this task, by its platform id, or of this call.'),
  request_id: NameOf('Only of the request with this `x-request-id`.'),
  tag: Type.Optional(
    Type.Union([TagQuery, Type.Array(TagQuery, { maxItems: MAX_TAGS })], {
      description: 'A tag that the request had, as `key:value`; may be given several times.',
    }),
  ),
  end_user: Type.Optional(
    Type.String({ maxLength: 128, description: "The tenant's id of its end user." }),
  ),
})

type ReportQuery = Omit<Partial<Static<ReturnType<typeof reportSchema>>>, 'format' | 'bom'>
const reportSchema = (surfaceNames: readonly string[]) => Type.Object(reportMembers(surfaceNames))

/** A report as it was asked for, within what the token may see. */
export interface Report {
  readonly range: TimeRange
  readonly filter: LedgerFilter & { readonly asOf: bigint }
}

/** Reads the facts from which a file of the report is named. */
export function factsOf(
  { filter }: { readonly filter: Pick<Report['filter'], 'tenantId' | 'fromMs' | 'toMs' | 'asOf'> },
  tz: string | undefined,
): Omit<FileFacts, 'name'> {
  const { tenantId, fromMs, toMs, asOf } = filter
  return { tenantId, fromMs, toMs, zone: readZone(tz), asOf: String(asOf) }
}

/** Reads the parameters of a report. @throws RequestError, DomainError */
export async function readReport(
  { queries, clock }: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: ReportQuery,
): Promise<Report> {
  const range = readTimeRange(query, clock.nowMs())
  const scope = narrow(visibleTo(principal), { tenantId: query.tenant_id, userId: query.user_id })
  const tags = [query.tag ?? []].flat().map(readTag)
  await requireDeclared(
    queries,
    scope.tenantId,
    tags.map(([name]) => ({ name, param: 'tag' })),
  )
  const { model, sku, surface, currency } = query
  return {
    range,
    filter: {
      ...scope,
      ...range,
      model,
      sku,
      surface,
      currency,
      tags,
      tokenId: query.token_id,
      sourceId: query.source_id,
      requestId: query.request_id,
      endUser: query.end_user,
      asOf: await queries.reads.ledgerPosition(toPosition(query.as_of)),
      since: toPosition(query.since),
      lateAfter: undefined,
    },
  }
}

/** A place in a list: what it is behind, and the position of the log that the list is as of. */
interface CursorPlace {
  /** The list, as `listKeyOf` names it. */
  readonly listKey: string
  readonly after: string | undefined
  readonly asOf: string | undefined
}

/**
 * Reads where a page of the list begins that `of` and the parameters name. Its cursor keeps the list's
 * position; that of a list as it is now has none.
 *
 * @throws DomainError, RequestError
 */
export function placeOf(
  of: readonly unknown[],
  query: { cursor?: string; as_of?: string },
  isPlace: (after: string) => boolean = () => true,
): CursorPlace {
  const { cursor, as_of: asOf } = query
  const listKey = listKeyOf(of, query)
  const text = fromCursor(cursor, listKey)
  const [, position, after = text] = /^(0|[1-9]\d{0,17})~(.+)$/.exec(text ?? '') ?? []
  if (position !== undefined && asOf !== undefined && asOf !== position)
    throw new RequestError(
      'parameter_invalid',
      `as_of must be that of the list that the cursor is of, ${position}`,
      'as_of',
    )
  if (after !== undefined && !isPlace(after)) throw foreignCursor()
  return { listKey, after, asOf: position ?? asOf }
}

/** A list whose cursors keep the position that it is as of. */
export function positionedList<Item, Row>(
  from: Parameters<typeof cursorList>[0],
  { filter }: { readonly filter: Pick<Report['filter'], 'asOf'> },
  read: Parameters<typeof cursorList<Item, Row, { as_of: string }>>[1],
  show: (item: Item) => Row,
) {
  const position = String(filter.asOf)
  return cursorList(
    from,
    async (page) => {
      const { items, next } = await read(page)
      return { items, next: next === undefined ? undefined : `${position}~${next}` }
    },
    show,
    { as_of: position },
  )
}

function readTag(text: string): readonly [name: string, value: string] {
  const end = text.indexOf(':')
  if (end <= 0) throw new RequestError('parameter_invalid', 'tag must be `key:value`', 'tag')
  return [text.slice(0, end), text.slice(end + 1)]
}

/** The keys of tags that a tenant has declared, where a reader sees one tenant or names it. @throws DomainError */
export async function readTagKeys(
  { accounts }: Pick<QueryServices['queries'], 'accounts'>,
  principal: Principal,
  asked: string | undefined,
): Promise<readonly string[]> {
  const { tenantId } = narrow(visibleTo(principal), { tenantId: asked, userId: undefined })
  return tenantId === undefined ? [] : accounts.tagKeys(tenantId)
}

/**
 * Refuses a key of tags that the tenant has not declared: nothing is recorded of it, which would
 * look like no usage. Reports of all tenants may name any.
 */
export async function requireDeclared(
  { accounts }: Pick<QueryServices['queries'], 'accounts'>,
  tenantId: string | undefined,
  asked: readonly { readonly name: string; readonly param: string }[],
): Promise<void> {
  if (asked.length === 0 || tenantId === undefined) return
  const declared = await accounts.tagKeys(tenantId)
  for (const { name, param } of asked) {
    if (declared.includes(name)) continue
    const hint = didYouMean(name, declared)
    const those =
      declared.length === 0 ? 'it has declared none' : `declared: ${declared.join(', ')}`
    throw new RequestError(
      'parameter_invalid',
      `the tenant has not declared a tag \`${name}\`${hint} (${those})`,
      param,
    )
  }
}
