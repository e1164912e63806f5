import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { JSX } from 'preact'
import { Type } from 'typebox'
import { callerGone } from '../../api/kit/routes/calls.ts'
import { sendFile } from '../../api/kit/answers/files.ts'
import { principalOf } from '../../api/kit/tokens/authenticate.ts'
import { NameOf } from '../../api/query/schemas.ts'
import { readLines } from '../../api/query/ledger.ts'
import { PARQUET } from '../../api/query/line-files.ts'
import { fileNameOf, postingsFile, readStatement } from '../../api/query/statements/files.ts'
import type { MonthOf } from '../../app/finance/statements/types.ts'
import { paths, periodFileHref } from '../kit/href.ts'
import { Panel } from '../kit/panel.tsx'
import { Command, Facts } from '../kit/values.tsx'
import type { ConsoleServices } from '../page.tsx'
import { readingAs, viewReasonBefore } from '../session/reading-as.ts'
import { monthNamed } from './names.ts'

/** Files of months, below their pages: a session has no token to ask the API with. */

const formats = ['pdf', 'html', 'csv', 'json'] as const
type Format = (typeof formats)[number]
const formatOf = (file: string): Format | undefined =>
  formats.find((name) => file.endsWith(`.${name}`))

const POSTINGS = 'postings.ndjson'
const LINES = 'lines.parquet'

const Params = Type.Object({
  id: Type.String(),
  file: Type.Enum([
    ...formats.flatMap((name) => [`statement.${name}`, `preview.${name}`]),
    POSTINGS,
    LINES,
  ]),
})
const Query = Type.Object({
  credit_note: NameOf('One credit note of the statement.'),
  number: NameOf('The statement of this number.'),
})

/** Registers the files of a month. */
export function periodFileRoutes(app: FastifyInstance, services: ConsoleServices): void {
  app.withTypeProvider<TypeBoxTypeProvider>().get(
    `${paths.period}/files/:file`,
    {
      config: { roles: ['finance'] },
      schema: { hide: true, params: Params, querystring: Query },
    },
    async (request, reply) => {
      const token = principalOf(request)
      const { id, file } = request.params
      const who = readingAs(token)
      const { number: statement, ...query } = request.query
      const of = { ...monthNamed(who, id), statement }
      const reasonHref = viewReasonBefore(request, token, [of.tenantId])
      if (reasonHref !== undefined) return reply.redirect(reasonHref, 303)
      if (file === POSTINGS) return sendFile(request, reply, postingsFile(services, of))
      const gone = callerGone(reply).signal
      if (file === LINES) {
        const { tenantId: tenant_id, currency, month: period } = of
        const lines = await readLines(services, who, { tenant_id, currency, period })
        const name = fileNameOf('lines', of, PARQUET.extension)
        return sendFile(request, reply, {
          ...(await lines.file('parquet', gone)),
          name,
          asOf: lines.facts.asOf,
        })
      }
      const format = formatOf(file) ?? 'json'
      const asked = {
        currency: of.currency,
        format,
        // Spreadsheets know UTF-8 by it.
        ...(format === 'csv' ? { bom: 'true' as const } : {}),
        ...(file.startsWith('preview') ? { status: 'preview' as const } : query),
      }
      const { number, extension, type, pieces } = await readStatement(services, of, asked, gone)
      const name = fileNameOf(number ?? 'preview', of, extension)
      return sendFile(request, reply, { name, type, asOf: undefined, pieces })
    },
  )
}

const fileWords: Readonly<Record<Format, string>> = {
  pdf: 'PDF, to send and to keep',
  html: 'HTML, to read in a browser',
  csv: 'CSV, for spreadsheets',
  json: 'JSON, with its proof',
}

/** Files of everything that a closed month has. */
const wholeFiles = {
  [POSTINGS]: 'every posting, to verify that none is missing',
  [LINES]: 'Parquet: every line with all of its columns, for a warehouse',
}

/** Links to the files of a statement or a preview. */
function Links({ of, kind }: { readonly of: MonthOf; readonly kind: 'statement' | 'preview' }) {
  return (
    <ul class="files">
      {formats.map((format) => (
        <li key={format}>
          <a href={periodFileHref(of, `${kind}.${format}`)} download>
            {kind}.{format}
          </a>{' '}
          <span class="note">
            {kind === 'preview' && format === 'json' ? 'JSON, without a proof' : fileWords[format]}
          </span>
        </li>
      ))}
      {kind === 'preview'
        ? null
        : Object.entries(wholeFiles).map(([file, words]) => (
            <li key={file}>
              <a href={periodFileHref(of, file)} download>
                {file}
              </a>{' '}
              <span class="note">{words}</span>
            </li>
          ))}
    </ul>
  )
}

/** The files of a closed month, and the command that verifies them. */
export function Files({
  of,
  number,
  keys,
}: {
  readonly of: MonthOf
  readonly number: string
  readonly keys: readonly string[]
}): JSX.Element {
  const command = [
    'tollgate verify',
    fileNameOf(number, of, 'json'),
    fileNameOf('postings', of, 'ndjson'),
    ...keys.map((key) => `--key ${key}`),
  ].join(' ')
  return (
    <Panel id="files" title="Files">
      <Links of={of} kind="statement" />
      <Facts facts={[['verify', <Command>{command}</Command>]]} />
      <p class="note">
        It needs no gateway and no network; customers run <code>node verify.mjs</code> instead. The
        key is at <code>/.well-known/tollgate-statement-keys</code>: one that comes with the files
        proves nothing.
      </p>
    </Panel>
  )
}

/** The files of one that is void, which verify as they did. */
export function VoidedFiles({
  of,
  number,
}: {
  readonly of: MonthOf
  readonly number: string
}): JSX.Element {
  const files = [...formats.map((format) => `statement.${format}`), POSTINGS]
  return (
    <span>
      {files.map((file, at) => (
        <span key={file}>
          {at === 0 ? '' : ', '}
          <a href={periodFileHref(of, file, { number })} download>
            {file}
          </a>
        </span>
      ))}
    </span>
  )
}

/** The files of an open month, as they would be now. */
export function PreviewFiles({ of }: { readonly of: MonthOf }): JSX.Element {
  return (
    <Panel id="files" title="Files of the preview">
      <Links of={of} kind="preview" />
      <p class="note">A preview has no number and no signature, and changes with each posting.</p>
    </Panel>
  )
}
