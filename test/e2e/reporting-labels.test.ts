import t from 'tap'
import { openTestTenant, sharedStack } from '../helpers/stack.ts'
import { askConsole, signInToConsole } from './support/console.ts'
import { call, queriesOf, taskBody, TASKS } from './support/client.ts'

/** Reports by the tags and end users that a tenant declared. */

const { url, access, caughtUp } = await sharedStack(t)
const { tenantId, adminToken, modelToken, queryToken } = await openTestTenant(access, 'labelled')
const support = queriesOf(url, queryToken)
const json = { 'content-type': 'application/json' }

const reporting = (body: object) =>
  call(`${url}/api/admin/tenants/${tenantId}/reporting`, {
    method: 'PUT',
    token: adminToken,
    headers: json,
    body: JSON.stringify(body),
  })

const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  call(`${url}${path}`, {
    method: 'POST',
    token: modelToken,
    headers: { ...json, ...headers },
    body: JSON.stringify(body),
  })

const requests = [
  ['/v1/chat/completions', { model: 'text-basic', messages: [{ role: 'user', content: 'hi' }] }],
  ['/v1/responses', { model: 'text-basic', input: 'hi' }],
  ['/v1/images/generations', { model: 'image-2', prompt: 'a paper boat' }],
  [TASKS, taskBody()],
] as const

const linesSince = async (since: string, query = '') =>
  (await support.get(`/ledger/lines?since=${since}${query}`)).body.data.items as readonly {
    readonly line_id: string
    readonly surface: string
    readonly tags: Readonly<Record<string, string>> | null
    readonly end_user: string | null
  }[]

const position = async (): Promise<string> => {
  await caughtUp()
  return (await support.get('/ledger/lines?limit=1')).body.data.as_of
}

/** Makes every request and gives the lines that they settled as, once all have. */
async function settled(
  headers: Readonly<Record<string, string>>,
): Promise<Awaited<ReturnType<typeof linesSince>>> {
  const since = await position()
  for (const [path, body] of requests) {
    const answer = await post(path, body, headers)
    if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`)
    if (path !== TASKS) continue
    for (let status = ''; status !== 'succeeded';)
      status = (await call(`${url}${TASKS}/${answer.body.id}`, { token: modelToken })).body.status
  }
  await caughtUp()
  return linesSince(since)
}

const sent = {
  'x-tollgate-tags': 'project=apollo%3B%2011; team=search;secret=s',
  'x-tollgate-end-user': 'user%20%E9%A9%AC',
}

t.test('reports select and group by what a tenant declared', async (t) => {
  await settled({})
  const set = await reporting({ tag_keys: ['team', 'project'], end_user: true })
  t.match(set.body.data, { object: 'reporting', tag_keys: ['project', 'team'], end_user: true })
  const since = await position()
  const lines = await settled(sent)
  t.equal(new Set(lines.map(({ surface }) => surface)).size, requests.length)
  const tags = { project: 'apollo; 11', team: 'search' }
  for (const line of lines)
    t.strictSame([line.tags, line.end_user], [tags, 'user 马'], line.line_id)
  const wanted = `&tag=team:search&tag=${encodeURIComponent('project:apollo; 11')}`
  t.equal((await linesSince(since, wanted)).length, lines.length)
  t.equal((await linesSince(since, '&tag=team:other')).length, 0)
  t.equal(
    (await linesSince(since, `&end_user=${encodeURIComponent('user 马')}`)).length,
    lines.length,
  )
  const usage = await support.get(`/usage?group_by=tag:team,surface&since=${since}`)
  t.equal(usage.body.data.items.length, requests.length)
  t.match(usage.body.data.items[0], { 'tag:team': 'search', refunded: '0' })
  const ofUsers = await support.get('/usage?group_by=end_user&sort=end_user')
  t.same(
    new Set(ofUsers.body.data.items.map((item: Record<string, unknown>) => item['end_user'])),
    new Set(['user 马', null]),
  )
  t.equal(ofUsers.body.data.items.at(-1).end_user, null, 'those without a value stand last')
  const lives = (await support.get('/lives')).body.data.items as readonly Record<string, unknown>[]
  t.match(
    lives.slice(0, requests.length),
    requests.map(() => ({ tags, end_user: 'user 马' })),
  )
  t.match(lives.at(-1), { tags: null, end_user: null })
  const all = await support.get('/usage?group_by=tag:team')
  t.same(
    new Set(all.body.data.items.map((item: Record<string, unknown>) => item['tag:team'])),
    new Set([null, 'search']),
  )
  const [callLine] = lines.filter(({ surface }) => surface === 'v1.chat')
  const [callId = ''] = callLine?.line_id.split(':') ?? []
  const { items } = (await support.get(`/tasks/${callId}/history`)).body.data
  t.match(items.at(-1).data, { tags, endUser: 'user 马' })
  t.notMatch(JSON.stringify(items), /secret/)
  t.match(await support.get('/usage?group_by=tag:secret'), {
    status: 400,
    body: { error: { param: 'group_by' }, message: /declared: project, team/ },
  })
})

t.test('pages show tags and end users, and sum by them', async (t) => {
  const cookie = await signInToConsole(url, queryToken)
  const ask = async (path: string) => {
    const answer = await askConsole(url, `/console${path}`, { cookie })
    t.equal(answer.status, 200, path)
    return answer.text.replaceAll('&amp;', '&')
  }
  const lines = await ask('/ledger/lines')
  const [, ofTag = ''] = /<a href="\/console(\/[^"]+)">team: search</.exec(lines) ?? []
  const [, ofUser = ''] = /<a href="\/console(\/[^"]+)">end user user 马</.exec(lines) ?? []
  const count = (text: string): number => text.split('data-name="SKU"').length - 1
  t.ok(count(lines) > count(await ask(ofTag)))
  t.equal(count(await ask(ofUser)), count(await ask(ofTag)))
  const [, line = ''] = /<a href="\/console(\/ledger\/lines\/[^"]+)"/.exec(await ask(ofTag)) ?? []
  const [, life = ''] = /<a class="id" href="\/console(\/life\/[^"]+)"/.exec(await ask(ofTag)) ?? []
  for (const page of [line, life, `/tenants/${tenantId}/activity`])
    for (const words of ['team: search', 'project: apollo; 11', 'end user user 马'])
      t.match(await ask(page), words, page)
  const sums = await ask('/ledger/summary?by=tag:team&and=end_user')
  t.match(sums, '<option value="tag:project">tag project</option>')
  const [, href = '', label] =
    /data-name="team"><a href="\/console([^"]+)">([^<]+)/.exec(sums) ?? []
  t.equal(label, 'search')
  t.match(await ask(href), 'user 马')
  t.match(sums, 'data-name="team">none', 'no filter names the lines without a tag')
})

t.test('a setting that is impossible is refused by its member', async (t) => {
  for (const [body, param] of [
    [{ tag_keys: ['Team'] }, 'tag_keys[0]'],
    [{ tag_keys: ['a', 'a'] }, 'tag_keys'],
    [{ tag_keys: 'abcdefghi'.split('') }, 'tag_keys'],
    [{}, 'tag_keys'],
    [{ tag_keys: [], end_user: 'yes' }, 'end_user'],
  ] as const)
    t.match(await reporting(body), { status: 400, body: { error: { param } } }, param)
})
