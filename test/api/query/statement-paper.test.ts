import type { ChildProcess } from 'node:child_process'
import { type AddressInfo, connect } from 'node:net'
import t, { type Test } from 'tap'
import type { StatementDocuments } from '../../../src/app/finance/statements/document/documents.ts'
import { statementPdf } from '../../../src/app/finance/statements/document/paper/pdf.ts'
import { createJobProcess } from '../../../src/app/finance/statements/process.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { launchStatements } from '../../../src/start/statements.ts'
import { issued } from '../../app/finance/statements/document/support/source.ts'
import { until } from '../../helpers/eventually.ts'
import { noManagement, principal, startApp } from '../support/app.ts'

/** Statements on paper over HTTP, from a real child process, without a Postgres: paper reads none. */

const path = '/api/query/v1/periods/2026-11/statement?currency=CNY&format=pdf'
const expected = await statementPdf({ source: issued })

/** A gateway; the bearer of `qak-N` is of a tenant of that number. */
async function started(t: Test) {
  const children: ChildProcess[] = []
  const { run, stop } = createJobProcess({
    launch: () => {
      const child = launchStatements('postgres://127.0.0.1:1/none')
      children.push(child)
      return child
    },
    logger: silentLog,
  })
  t.teardown(stop)
  const asked: AbortSignal[] = []
  const none = () => Promise.reject(new Error('not asked for'))
  const documents: StatementDocuments = {
    find: none,
    issued: async () => Promise.resolve({ source: issued, proof: undefined as never }),
    voided: none,
    preview: none,
    users: none,
    paper: (job, signal) => {
      asked.push(signal)
      return run('pdf', job, signal)
    },
  }
  const { app, logged } = await startApp({
    tokens: {
      authenticate: async (secret) => {
        const caller = { tenantId: `tenant_${secret}`, userId: `user_${secret}` }
        const scope = { level: 'all_users' } as const
        return Promise.resolve({
          ok: true,
          principal: principal({ kind: 'query', scope, ...caller }),
        })
      },
    },
    queries: { statements: { ...noManagement.statements, documents } },
  })
  t.teardown(() => app.close())
  const get = (n: number) =>
    app.inject({ url: path, headers: { authorization: `Bearer qak-${n}` } })
  return { app, get, asked, children, logged }
}

t.test('a statement as PDF, named by its number', async (t) => {
  const { get } = await started(t)
  const answer = await get(1)
  t.equal(answer.statusCode, 200)
  t.match(answer.headers, {
    'content-type': 'application/pdf',
    'content-disposition': 'attachment; filename="ACME-0011_tenant_qak-1_CNY_2026-11.pdf"',
    'cache-control': 'no-store',
  })
  t.ok(expected.equals(answer.rawPayload))
})

t.test('503 service_unavailable while eight wait, and the others get theirs', async (t) => {
  const { get, asked, children } = await started(t)
  const first = get(0)
  await until(() => children.length === 1)
  children[0]?.kill('SIGSTOP')
  const waiting = Array.from({ length: 8 }, (_, n) => get(n + 1))
  await until(() => asked.length === 9)
  const ninth = get(9)
  await until(() => asked.length === 10)
  children[0]?.kill('SIGCONT')
  const refused = await ninth
  t.equal(refused.statusCode, 503)
  t.ok(Number(refused.headers['retry-after']) >= 1)
  t.match(refused.json(), {
    success: false,
    message: 'The service is busy; nothing was started',
    error: { code: 'service_unavailable' },
  })
  for (const { statusCode, rawPayload } of await Promise.all([first, ...waiting])) {
    t.equal(statusCode, 200)
    t.ok(expected.equals(rawPayload))
  }
})

t.test('a caller who leaves gives its place to the next one', async (t) => {
  const { app, get, asked, children, logged } = await started(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer qak-1\r\n\r\n`)
  await until(() => children.length === 1)
  children[0]?.kill('SIGSTOP')
  socket.destroy()
  await until(() => asked[0]?.aborted === true)
  const next = get(2)
  children[0]?.kill('SIGCONT')
  t.equal((await next).statusCode, 200)
  t.equal(children.length, 1)
  t.notMatch(logged(), /"level":50/, 'it is no defect')
})
