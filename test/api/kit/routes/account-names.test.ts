import t from 'tap'
import { Compile } from 'typebox/compile'
import { DisplayName } from '../../../../src/api/kit/routes/account-surface.ts'
import { startApp } from '../../support/app.ts'

/** Code points of characters that hide or turn what is shown. */
const hiding = '61c 200b 200e 200f 2028 2029 202a 202e 2060 2066 2069 feff 0 a 7f 85'.split(' ')

void t.test('a name is shown as it is', async (t) => {
  const name = Compile(DisplayName)
  for (const code of hiding)
    t.notOk(name.Check(`a${String.fromCharCode(Number.parseInt(code, 16))}b`), code)
  for (const one of ['Acme', 'Zoë 東京', 'علی‌رضا', '👩‍💻', 'a–b']) t.ok(name.Check(one), one)
  t.notOk(name.Check('   '))
})

void t.test('400 in the shape of the surface for a name with a mark of direction', async (t) => {
  const { app } = await startApp()
  t.teardown(() => app.close())
  const answer = await app.inject({
    method: 'POST',
    url: '/api/admin/tenants',
    headers: { authorization: 'Bearer adm-one' },
    payload: { name: 'Ac\u202eme' },
  })
  t.equal(answer.statusCode, 400)
  t.match(answer.json(), { success: false, error: { code: 'invalid_request', param: 'name' } })
})
