import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { removeFolder } from '../helpers/remove-folder.ts'
import { runPage } from './support/page.ts'
import { serve } from './support/tollgate.ts'

/** Every command of `docs/support.md`, run from the page in one shell on a gateway as a user starts it. */

const folder = await mkdtemp(join(tmpdir(), 'tollgate-support-'))
t.teardown(() => removeFolder(folder))
const gateway = await serve(join(folder, 'data'))
t.teardown(() => gateway.end('SIGKILL'))

t.test('nine questions of customers, each answered by what the page prints', async (t) => {
  const of = await runPage(t, 'docs/support.md', gateway.demo.baseUrl, folder)

  const twice = of('1. I was charged twice')
  t.match(twice, /The same request was sent twice, \d+\.\d s apart, without a key: 2 charges\./)
  t.match(twice, /\| call_\w+ \| the same request again \| \+\d/)

  t.match(of('2. Why did it cost that?'), /× 2 ÷ 1000000 = 0\.0000\d+ +token +reported +book/)

  const waits = of('3. My video is not ready')
  t.match(waits, /Made by the provider, which has not reported its usage: asked until /)
  t.match(waits, /- held: 5\.055078 CNY\n/)
  t.match(waits, /- polls: \d+\n/)
  t.match(waits, /made, usage not reported/)
  t.match(waits, /\+01:00/, 'times of the zone')

  const failed = of('4. My video failed. Do I pay for it?')
  t.match(
    failed,
    /^About your request of .* to domestic-video-2-0:\nIt has no result: failed \(InternalError\b.*\nYou were not charged\./,
  )
  t.match(failed, /TaskRequested +hold 5\.055078 CNY/)
  t.match(failed, /nothing to pay/)

  const error = of('5. What does this error mean?')
  t.match(error, /refused_request +req_\w+ .*unknown_model/)
  t.match(error, /unauthenticated +1 /, 'the disabled token counts under itself')

  const token = of('6. My token stopped working')
  t.match(token, /token +token_\w+ +tenant_demo +disabled +old/)
  t.match(token, /TokenDisabled .*left the company/)

  const person = of('7. What did this person do today?')
  t.match(person, /CallSettled +pays 0\.0000\d+ USD/)
  t.match(person, /\d+ events in .* to pay/)

  const money = of('8. Where did my money go?')
  t.match(money, /usage +-0\.000\d+ .*2 requests/)
  t.match(money, /text-basic +USD +token +\d+ +0\.000\d+ +4 +2 /)

  const asked = of('9. What can I do about it?')
  t.match(asked, /due: (?:now|leased)/)
  t.match(asked, /\| asked to look again \| the customer asks for it: ticket 4711 \|/)
  t.match(asked, /## Notes, for people inside\n\n- .*, a shell, poll: the customer asks for it/)
  t.notMatch(asked.split('## Reply')[1], /4711/)
})
