import t from 'tap'
import { asModel, goodBody, startApp, tasksPath } from '../../support/app.ts'

const { app, tasks } = await startApp()
t.teardown(() => app.close())

const post = (url: string, payload: Buffer) =>
  app.inject({
    method: 'POST',
    url,
    headers: { ...asModel, 'content-type': 'application/json' },
    payload,
  })

t.test('a UTF-8 byte order mark before a body is skipped, once', async (t) => {
  const mark = Buffer.from('\ufeff')
  const body = Buffer.from(JSON.stringify(goodBody))
  t.equal((await post(tasksPath, Buffer.concat([mark, body]))).statusCode, 200)
  t.match(tasks.created.at(-1), { model: goodBody.model })
  t.equal((await post(tasksPath, Buffer.concat([mark, mark, body]))).statusCode, 400)
  // The reader of bodies with media skips it too.
  const video = {
    model: 'h3-video',
    content: [{ type: 'text', text: 'a boat' }],
    duration: 6,
    ratio: '1:1',
  }
  const marked = Buffer.concat([mark, Buffer.from(JSON.stringify(video))])
  t.equal((await post('/provB/v2/video_generation', marked)).statusCode, 200)
  // A mark alone is an empty body.
  t.match((await post(tasksPath, mark)).json(), { error: { message: /empty/ } })
})

t.test('messages hold no regular expression', async (t) => {
  const asAdmin = { authorization: 'Bearer adm-one' }
  const tenant = { name: 'Acme', tenant_id: 'a b' }
  const answer = await app.inject({
    method: 'POST',
    url: '/api/admin/tenants',
    headers: asAdmin,
    payload: tenant,
  })
  t.match(answer.json(), {
    message: 'tenant_id must have 1 to 64 letters, digits, _ and -, and not begin with _ or -',
    error: { param: 'tenant_id' },
  })
})
