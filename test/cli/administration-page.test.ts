import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { removeFolder } from '../helpers/remove-folder.ts'
import { runPage } from './support/page.ts'
import { serve } from './support/tollgate.ts'

/** Every command of `docs/administration.md`, run from the page in one shell on a gateway as a user starts it. */

const folder = await mkdtemp(join(tmpdir(), 'tollgate-administration-'))
t.teardown(() => removeFolder(folder))
const gateway = await serve(join(folder, 'data'))
t.teardown(() => gateway.end('SIGKILL'))

t.test('a tenant from its opening to its end, by the commands of the page', async (t) => {
  const of = await runPage(t, 'docs/administration.md', gateway.demo.baseUrl, folder)

  const opened = of('1. Open a tenant')
  t.match(opened, /northwind: Northwind Film \(revision 1\)/)
  t.match(opened, /kim +Kim Weber/)

  t.match(of('2. Hand out tokens'), /token_\w+ .*work/)
  t.match(of('3. Limit what is asked at once'), /120/)
  t.match(of('4. Limit what is spent'), /kim .*5/)

  const user = of('5. Suspend a user')
  t.match(user, /suspended user kim: on leave until May/)
  t.match(user, /"message":"The user of this token is suspended: on leave until May\./)
  t.match(user, /"suspended":false,"suspended_reason":null,"changed":true/)

  const suspended = of('6. Suspend the tenant')
  t.match(suspended, /northwind: suspended since /)
  t.match(suspended, /"code":"tenant_suspended"/)
  t.match(suspended, /"object":"usage"/, 'usage is read meanwhile')
  t.match(suspended, /northwind +Northwind Film +suspended/)

  const resumed = of('7. Resume it')
  t.match(resumed, /northwind: open since /)
  t.match(resumed, /\nnull\n/, 'no call is refused any more')

  const closed = of('8. Close it')
  t.match(closed, /Money is held for video_\w+: close the tenant once they have ended/)
  t.match(closed, /exit code 1/)
  t.match(closed, /northwind: closed since /)
  t.match(closed, /"code":"tenant_closed"/)

  const who = of('9. Who did that')
  t.match(who, /northwind: closed since .*\nreason: the contract has ended/)
  t.match(who, /TenantStatusSet +closed: the contract has ended/)
  t.match(who, /"actor":"\w+/)
})
