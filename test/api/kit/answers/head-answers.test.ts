import { Readable } from 'node:stream'
import t from 'tap'
import Fastify from 'fastify'
import { useHeadAnswers } from '../../../../src/api/kit/answers/head-answers.ts'
import { startApp, tokensByScheme } from '../../support/app.ts'

t.test('HEAD reads no byte of a stream and states its length', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  useHeadAnswers(app)
  let pieces = 0
  let destroyed = false
  app.get('/file', (_request, reply) => {
    const body = new Readable({
      read() {
        pieces += 1
        this.push(pieces > 100 ? null : 'piece')
      },
      destroy(error, done) {
        destroyed = true
        done(error)
      },
    })
    return reply.header('content-length', '1000000').type('video/mp4').send(body)
  })
  const answer = await app.inject({ method: 'HEAD', url: '/file' })
  t.match(answer, { statusCode: 200, body: '' })
  t.match(answer.headers, { 'content-length': '1000000', 'content-type': 'video/mp4' })
  t.equal(pieces, 0)
  t.equal(destroyed, true)
})

interface Operation {
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
}

t.test('HEAD answers as GET on every route', async (t) => {
  const { app } = await startApp()
  t.teardown(() => app.close())
  const { paths } = (await app.inject('/openapi.json')).json<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }>()
  const changing = new Set(['date', 'x-request-id', 'connection', 'keep-alive'])
  let routes = 0
  for (const [path, { get }] of Object.entries(paths)) {
    if (get === undefined) continue
    routes += 1
    const [scheme = ''] = Object.keys(get.security?.[0] ?? {})
    const headers = { authorization: `Bearer ${tokensByScheme[scheme] ?? ''}` }
    const url = path.replace(/\{\w+\}/g, 'one')
    const [one, head] = [
      await app.inject({ method: 'GET', url, headers }),
      await app.inject({ method: 'HEAD', url, headers }),
    ]
    t.equal(head.statusCode, one.statusCode, path)
    t.equal(head.body, '', path)
    const kept = (of: typeof one) =>
      Object.fromEntries(Object.entries(of.headers).filter(([name]) => !changing.has(name)))
    t.match(kept(head), kept(one), path)
  }
  t.ok(routes > 30, `${routes} routes`)
})
