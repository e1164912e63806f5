import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../../app/access/principal.ts'
import {
  creditNoteOf,
  type NumberedNote,
} from '../../../app/finance/statements/document/credit-note.ts'
import type { StatementDocuments } from '../../../app/finance/statements/document/documents.ts'
import { creditNotePage, statementPage } from '../../../app/finance/statements/document/html.ts'
import { creditNoteFile, statementFile } from '../../../app/finance/statements/document/json.ts'
import type { StatementSource } from '../../../app/finance/statements/document/source.ts'
import {
  statementColumns,
  statementTable,
  type StatementTableRow,
} from '../../../app/finance/statements/document/table.ts'
import type { CloseOf, MonthOf } from '../../../app/finance/statements/types.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { inFileName, sendFile } from '../../kit/answers/files.ts'
import { callerGone } from '../../kit/routes/calls.ts'
import { MonthMember } from '../../kit/routes/account-surface.ts'
import { principalOf } from '../../kit/tokens/authenticate.ts'
import { RequestError } from '../../kit/request-error.ts'
import { CSV, csvOf, type Table, type WrittenFile } from '../../kit/answers/lists.ts'
import { describeQuery } from '../documentation.ts'
import { periodFailures, proofFailures, statementFailures } from '../envelope.ts'
import { anyLines } from '../reads.ts'
import { Name, NameOf } from '../schemas.ts'
import { narrow, requireWholeTenant, visibleTo } from '../scope.ts'
import type { QueryServices } from '../services.ts'

/** The files of a closed month: its statement, all of its postings, and the proof of one line. */

const MonthParams = Type.Object({ month: MonthMember })
const accountMembers = {
  tenant_id: NameOf('The tenant of the account; a token of one tenant needs none.'),
  currency: Type.Enum(['CNY', 'USD'], { description: 'The currency of the account.' }),
}
const closeMembers = {
  ...accountMembers,
  number: NameOf(
    'The statement of this number; by default the one that stands, or else the last one, which is void.',
  ),
}
const StatementQuerySchema = Type.Object({
  ...closeMembers,
  format: Type.Optional(
    Type.Enum(['json', 'html', 'csv', 'pdf'], {
      description: 'The form of the file; JSON by default.',
    }),
  ),
  bom: Type.Optional(
    Type.Enum(['true', 'false'], {
      description: 'CSV: whether a byte order mark comes first, by which spreadsheets know UTF-8.',
    }),
  ),
  status: Type.Optional(
    Type.Enum(['issued', 'preview'], {
      description: '`preview`: the statement of an open month as it would be now.',
    }),
  ),
  detail: Type.Optional(
    Type.Enum(['users'], { description: 'HTML and PDF: with a page of usage by user and model.' }),
  ),
  credit_note: NameOf('One credit note of the statement instead, by its number.'),
})
type StatementQuery = Static<typeof StatementQuerySchema>

/** The account and the month of a request, and the close where one is named. @throws RequestError, DomainError */
function closeOf(
  principal: Principal,
  { month }: { readonly month: string },
  {
    tenant_id: asked,
    currency,
    number: statement,
  }: Pick<StatementQuery, 'tenant_id' | 'currency' | 'number'>,
): CloseOf {
  requireWholeTenant(principal, 'statements')
  const { tenantId } = narrow(visibleTo(principal), { tenantId: asked, userId: undefined })
  if (tenantId !== undefined) return { tenantId, currency, month, statement }
  throw new RequestError('parameter_invalid', 'name the tenant of the account', 'tenant_id')
}

/** The name under which a file of a month is saved. */
export const fileNameOf = (
  kind: string,
  { tenantId, currency, month }: MonthOf,
  extension: string,
) => `${kind}_${inFileName(tenantId)}_${currency}_${month}.${extension}`

async function* onePiece<Piece>(piece: Piece): AsyncGenerator<Piece> {
  yield piece
}

function tableOf(
  source: StatementSource,
  note: NumberedNote | undefined,
): Table<StatementTableRow> {
  const rows = async function* rows(): AsyncGenerator<readonly StatementTableRow[]> {
    yield statementTable(source, note)
  }
  return { columns: statementColumns, rows }
}

/** Rows of usage by user and model: some hundred pages. */
const MAX_USER_ROWS = 5_000

/** @throws RequestError `query_too_long` */
async function usersOf(documents: StatementDocuments, { period }: StatementSource) {
  const users = await documents.users(period, MAX_USER_ROWS + 1)
  if (users.length <= MAX_USER_ROWS) return users
  throw new RequestError(
    'query_too_long',
    `more than ${MAX_USER_ROWS} users and models: leave out detail, and ask for usage`,
  )
}

/** A statement as a file: `statement` of the query API. */
export async function readStatement(
  { queries }: Pick<QueryServices, 'queries'>,
  of: CloseOf,
  { format = 'json', bom, status, detail, credit_note: wanted }: StatementQuery,
  gone: AbortSignal,
): Promise<WrittenFile & { readonly number: string | undefined }> {
  if (bom === 'true' && format !== 'csv')
    throw new RequestError('parameter_invalid', `bom is for tables: ${format} has none`, 'bom')
  if (detail !== undefined && format !== 'html' && format !== 'pdf')
    throw new RequestError(
      'parameter_invalid',
      `detail is for html and pdf: ${format} has none`,
      'detail',
    )
  if (status === 'preview' && wanted !== undefined)
    throw new RequestError('parameter_invalid', 'a preview has no credit notes', 'credit_note')
  if (status === 'preview' && of.statement !== undefined)
    throw new RequestError('parameter_invalid', 'a preview has no number', 'number')
  const { documents } = queries.statements
  const found =
    status === 'preview'
      ? { source: await documents.preview(of), proof: undefined }
      : await documents.issued(of)
  const { source, proof } = found
  const note = wanted === undefined ? undefined : creditNoteOf(source, wanted)
  const number = note?.number ?? source.issued?.statement
  const file = (extension: string, type: string, content: string | Uint8Array) => {
    return { number, extension, type, pieces: onePiece(content) }
  }
  if (format === 'csv')
    return { number, ...CSV, pieces: csvOf(tableOf(source, note), bom === 'true') }
  if (format === 'html' || format === 'pdf') {
    const users = detail && (await usersOf(documents, source))
    const detailed = { ...source, users }
    if (format === 'pdf')
      return file('pdf', 'application/pdf', await documents.paper({ source: detailed, note }, gone))
    const page = note === undefined ? statementPage(detailed) : creditNotePage(source, note)
    return file('html', 'text/html; charset=utf-8', page)
  }
  const json = note === undefined ? statementFile(source, proof) : creditNoteFile(source, note)
  return file('json', 'application/json; charset=utf-8', json)
}

function statementRoute(instance: FastifyInstance, services: QueryServices): void {
  const described = describeQuery({
    operationId: 'getStatement',
    summary: 'Get the statement of a month as JSON, HTML, CSV or PDF',
    ok: Type.Object({}, { description: 'A statement with its proof.', named: 'Statement' }),
    failures: statementFailures,
    files: {
      'text/html': 'A page for a customer, without a script.',
      'application/pdf': 'The same on paper, with fonts.',
      'text/csv': 'CSV (RFC 4180) with a header line, where the request asks for CSV.',
    },
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/periods/:month/statement',
    {
      config: { roles: ['finance'] },
      schema: { ...described, params: MonthParams, querystring: StatementQuerySchema },
    },
    async (request, reply) => {
      const of = closeOf(principalOf(request), request.params, request.query)
      const { number, extension, type, pieces } = await readStatement(
        services,
        of,
        request.query,
        callerGone(reply).signal,
      )
      const name = fileNameOf(number ?? 'preview', of, extension)
      void reply.header('cache-control', 'no-store')
      return sendFile(request, reply, { name, type, asOf: undefined, pieces })
    },
  )
}

/** All postings of a closed month as a file. */
export function postingsFile({ queries }: Pick<QueryServices, 'queries'>, of: CloseOf) {
  return {
    name: fileNameOf('postings', of, 'ndjson'),
    type: 'application/x-ndjson',
    asOf: undefined,
    pieces: queries.statements.postings(of),
  }
}

function postingsRoute(instance: FastifyInstance, services: QueryServices): void {
  const described = describeQuery({
    operationId: 'listPostings',
    summary: 'Get every posting of a closed month, as the leaves of its tree',
    failures: periodFailures,
    files: { 'application/x-ndjson': 'The close, then each posting: a line of JSON each.' },
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/periods/:month/postings',
    {
      config: { roles: ['finance'] },
      schema: { ...described, params: MonthParams, querystring: Type.Object(closeMembers) },
    },
    async (request, reply) => {
      const of = closeOf(principalOf(request), request.params, request.query)
      void reply.header('cache-control', 'no-store')
      return sendFile(request, reply, postingsFile(services, of))
    },
  )
}

/** The tenant of a line that the token may see. @throws DomainError `line_not_found` */
async function tenantOfLine(
  { queries }: Pick<QueryServices, 'queries'>,
  principal: Principal,
  lineId: string,
): Promise<string> {
  requireWholeTenant(principal, 'proofs')
  const end = lineId.lastIndexOf(':')
  const ofSource = { ...anyLines, ...visibleTo(principal), sourceId: lineId.slice(0, end) }
  const filter = { ...ofSource, fromMs: undefined, toMs: undefined }
  const asOf = await queries.reads.ledgerPosition(undefined)
  const page = { after: undefined, limit: 1 }
  const { items } = await queries.reads.listLines({ ...filter, asOf }, page)
  const [line] = items
  if (end > 0 && line !== undefined) return line.tenantId
  throw new DomainError('line_not_found', 'The tenant has no such line', {})
}

/** The close that has a line. @throws DomainError `line_not_found`, `line_open` */
export async function readPeriodOfLine(
  services: Pick<QueryServices, 'queries'>,
  principal: Principal,
  lineId: string,
) {
  const tenantId = await tenantOfLine(services, principal, lineId)
  return services.queries.statements.periodOfLine({ tenantId, lineId })
}

/** The proof that a line is in its statement. @throws DomainError `line_not_found`, `line_open` */
export async function readLineProof(
  services: Pick<QueryServices, 'queries'>,
  principal: Principal,
  lineId: string,
): Promise<{ readonly tenantId: string; readonly proof: string }> {
  const tenantId = await tenantOfLine(services, principal, lineId)
  return { tenantId, proof: await services.queries.statements.proofOfLine({ tenantId, lineId }) }
}

function proofRoute(instance: FastifyInstance, services: QueryServices): void {
  const described = describeQuery({
    operationId: 'getLineProof',
    summary: 'Get the proof that a line is in its statement',
    failures: proofFailures,
    files: { 'text/plain': 'A proof of inclusion (C2SP tlog-proof), with the line as its extra.' },
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/ledger/lines/:line_id/proof',
    {
      config: { roles: ['finance'] },
      schema: { ...described, params: Type.Object({ line_id: Name }) },
    },
    async (request, reply) => {
      const { proof } = await readLineProof(services, principalOf(request), request.params.line_id)
      void reply.header('cache-control', 'no-store')
      return reply.type('text/plain; charset=utf-8').send(proof)
    },
  )
}

/** The statement of a month, its postings, and the proof of a line. */
export function statementRoutes(instance: FastifyInstance, services: QueryServices): void {
  statementRoute(instance, services)
  postingsRoute(instance, services)
  proofRoute(instance, services)
}
