import t from 'tap'
import { envelopeOf } from './caller.ts'

t.test('a failure stated only in a body has its equivalent status', async (t) => {
  const { statusOf, isFailure } = envelopeOf('/provB/v1/t2a_v2')
  const base = (code: number) => ({
    base_resp: { status_code: code, status_msg: 'as it is' },
    trace_id: 'req_1',
  })
  t.equal(statusOf?.(base(0), 'POST'), undefined)
  t.equal(statusOf?.({}, 'POST'), undefined, 'audio itself')
  t.equal(statusOf?.(base(2013), 'POST'), 400)
  t.equal(statusOf?.(base(2013), 'GET'), 404, 'nothing of that id')
  t.equal(statusOf?.(base(1008), 'POST'), 402)
  t.equal(isFailure(base(2013), 400), true)
  t.equal(isFailure(base(0), 502), false)
})

t.test('each surface has its own shape of failures', async (t) => {
  const error = { code: 'x', message: 'y', param: '', type: 'z' }
  const numbered = { type: 'server_error', message: 'y (1000)', http_code: '502' }
  const shapes = {
    '/provA/api/v3/x': { error },
    '/provB/v2/video_generation': { type: 'error', error: numbered, request_id: 'req_1' },
    '/provC/ent/v2/x': { code: 502, reason: 'x', message: 'y', metadata: { trace_id: 'req_1' } },
    '/v1/images': { error: { ...error, param: null } },
  }
  for (const path of Object.keys(shapes))
    for (const [of, body] of Object.entries(shapes)) {
      // Those of two surfaces differ in whether there may be no parameter.
      const isAlike = path === of || (path.startsWith('/v1/') && of.startsWith('/provA/'))
      t.equal(envelopeOf(path).isFailure(body, 502), isAlike, `${of} on ${path}`)
    }
  t.equal(envelopeOf('/provC/x').isFailure(shapes['/provC/ent/v2/x'], 503), false, 'another status')
  t.throws(() => envelopeOf('/elsewhere'), RangeError)
})
