import type { Page } from 'playwright-core'
import t from 'tap'
import { addUser, disableToken, issueToken } from '../../src/app/accounts/account-commands.ts'
import { chromium } from '../helpers/requirements.ts'
import { atLength } from '../helpers/long-run.ts'
import { pageText } from '../helpers/printed-calls.ts'
import { startStack } from '../helpers/stack.ts'
import { until } from '../helpers/eventually.ts'
import { withPage } from './support/browser.ts'
import { call, tasksOf } from './support/client.ts'
import { addController, administration } from './support/console.ts'
import { handNamed, type Walk, walkOf } from './support/hands.ts'
import { settlePastWeeks } from './support/past-weeks.ts'

const skip = chromium.missing

/**
 * Questions of a controller, a support agent and an operator, each answered by looking: the page that answers it, and
 * the steps from the overview to it. `docs/console.md` lists them with their numbers of steps.
 */

const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo, access } = stack
const { tenantId, userId } = demo

const manage = administration(stack)

async function chat(content: string, headers: Readonly<Record<string, string>> = {}, more = {}) {
  const answer = await call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content }], ...more }),
  })
  return {
    id: answer.headers.get('x-call-id') ?? '',
    request: answer.headers.get('x-request-id') ?? '',
  }
}

const { items: ownTokens } = await manage('GET', `/tokens?tenant_id=${tenantId}`)
const owner = { tenantId, userId, tokenId: String(ownTokens[0].id) }
await settlePastWeeks(access.log, owner, Date.now(), 62)
await manage('PUT', `/tenants/${tenantId}/reporting`, { tag_keys: ['project'], end_user: true })
await manage('PUT', `/tenants/${tenantId}/budgets`, {
  budgets: [{ subject: 'tenant', currency: 'USD', period: 'month', hard: '90000' }],
})
const labels = { 'x-tollgate-tags': 'project=apollo', 'x-tollgate-end-user': 'pupil' }
const labelled = await chat('labelled', labels)
const first = await chat('the same')
const again = await chat('the same')
const refused = await chat('hello', {}, { model: 'text-basik' })
const failed = await chat('x [[sandbox http=500]]')
const tasks = tasksOf(url, demo.modelToken)
const made = await tasks.create({ prompt: 'a boat' })
const video = String(made.headers.get('x-platform-id'))
await tasks.create({ prompt: 'x [[sandbox queued-ms=0 running-ms=600000]]' })
await tasks.reaches(String(made.body.id), 'succeeded')
await manage('POST', `/tenants/${tenantId}/credit/grants`, {
  currency: 'USD',
  amount: '50',
  reason: 'paid in advance',
  reference: 'INV-77',
  grant_id: 'inv_77',
})
await addUser(access, { tenantId, userId: 'leaver', name: 'Lea Ver' })
const gone = await issueToken(access, { tenantId, userId: 'leaver', kind: 'model', name: 'old' })
await disableToken(access, { tokenId: gone.tokenId, reason: 'left the company' })
const read = (path: string) => call(`${url}/api/query/v1${path}`, { token: demo.queryToken })
await until(async () => (await read(`/lives/${video}`)).body.data?.state === 'settled')
await until(
  async () => (await read(`/search?q=${refused.request}`)).body.data.items[0] !== undefined,
)
const { body: lineBody } = await read(`/lives/${labelled.id}`)
await manage('POST', `/tenants/${tenantId}/adjustments`, {
  adjustment_id: 'given_back',
  line_id: `${labelled.id}:1`,
  amount: String(lineBody.data.receipt.lines[0].amount),
  code: 'quality',
  reason: 'wrong answer, ticket 4711',
})
const approver = await addController(stack, 'proposer')
await manage('PUT', `/tenants/${tenantId}/approvals`, {
  limits: [{ currency: 'USD', above: '10' }],
  lapse_hours: 72,
})
await manage(
  'POST',
  `/tenants/${tenantId}/credit/grants`,
  { currency: 'USD', amount: '60', reason: 'second invoice', grant_id: 'inv_78' },
  approver,
)
await stack.caughtUp()
const tenantName = String((await manage('GET', `/tenants/${tenantId}`)).name)

interface Question {
  readonly ask: string
  /** The steps from the overview, and what is then seen. */
  readonly answer: (walk: Walk, page: Page) => Promise<unknown>
}

const summary = async ({ follow }: Walk) => {
  await follow('Ledger')
  await follow('Summary')
}
const lifeOf = (id: string, words: RegExp): Question['answer'] => {
  return async ({ find, sees }) => {
    await find(id)
    await sees(words)
  }
}

const ofController: readonly Question[] = [
  {
    ask: 'What can a tenant still spend, and how does that add up?',
    answer: async ({ follow, sees }) => {
      await follow(tenantName)
      await sees(/Available[^]*granted[^]*settled[^]*net this month/)
    },
  },
  {
    ask: 'What is held, for which task, and since when?',
    answer: async ({ follow, sees }) => {
      await follow('Ledger')
      await follow('Held')
      await sees(/held for tasks[^]*tenant_demo/)
    },
  },
  {
    ask: 'Which requests were charged twice, and what was refunded?',
    answer: async ({ follow, sees }) => {
      await follow('Failed')
      await follow('Charged twice')
      await sees(
        new RegExp(
          `charged again for 1 with the same body[^]*${again.id}[^]*${first.id}[^]*nothing`,
        ),
      )
    },
  },
  {
    ask: 'Which tenants spent most last month?',
    answer: async (walk) => {
      await summary(walk)
      await walk.choose('Group by', 'tenant')
      await walk.choose('Largest', '10')
      await walk.choose('Time', 'last_month')
      await walk.press('Show')
      await walk.sees(new RegExp(`${tenantName}[^]*USD`))
    },
  },
  {
    ask: 'What did each model cost, compared with the month before?',
    answer: async (walk) => {
      await summary(walk)
      await walk.choose('Group by', 'model')
      await walk.choose('Compare', 'true')
      await walk.choose('Time', 'last_month')
      await walk.press('Show')
      await walk.sees(/Compared with[^]*speech-2\.8-hd/)
    },
  },
  {
    ask: 'What did each end user cost?',
    answer: async (walk) => {
      await summary(walk)
      await walk.choose('Group by', 'end_user')
      await walk.choose('Time', '7d')
      await walk.press('Show')
      await walk.sees(/pupil/)
    },
  },
  {
    ask: 'What did each project cost?',
    answer: async (walk) => {
      await summary(walk)
      await walk.write('Tenant', tenantId)
      await walk.press('Show')
      await walk.sees(/Tenant: /)
      await walk.choose('Group by', 'tag:project')
      await walk.choose('Time', '7d')
      await walk.press('Show')
      await walk.sees(/apollo/)
    },
  },
  {
    ask: 'Which refunds were given, why, with which sums by code?',
    answer: async ({ follow, sees }) => {
      await follow('Ledger')
      await follow('Credits')
      await sees(/Sums by code[^]*quality[^]*wrong answer, ticket 4711/)
    },
  },
  {
    ask: 'Which credit was given for which invoice?',
    answer: async ({ follow, choose, press, sees }) => {
      await follow('Ledger')
      await follow('Credits')
      await choose('Show', 'credit')
      await press('Show')
      await sees(/paid in advance, reference INV-77/)
    },
  },
  {
    ask: 'What waits for my decision?',
    answer: async ({ follow, sees }) => {
      await follow(/^Proposals/)
      await sees(/second invoice/)
    },
  },
  {
    ask: 'What does a proposal rest on: its reason, the balance before and after?',
    answer: async ({ follow, sees }) => {
      await follow(/^Proposals/)
      await follow('credit', 'second invoice')
      await sees(/balance before[^]*balance after[^]*second invoice/)
    },
  },
  {
    ask: 'Who changed a setting, and what was it before?',
    answer: async ({ follow, sees }) => {
      await follow('Changes')
      await sees(/approvals[^]*USD above 10/)
    },
  },
  {
    ask: 'By which formula, and from which price, is a line?',
    answer: async ({ follow, sees }) => {
      await follow('Ledger')
      await follow(/^\d\d? [A-Z][a-z]+ \d{4}/)
      await sees(/Calculation[^]*price book/)
    },
  },
  {
    ask: 'What does a SKU cost, and since when?',
    answer: async ({ follow, write, press, sees }) => {
      await follow('Ledger')
      await follow('Prices')
      await write('Prices of SKU', 'text-basic-output-token')
      await press('Show')
      await sees(/List prices of text-basic-output-token[^]*2 USD/)
    },
  },
  {
    ask: 'How did an account move, with the balance after each step?',
    answer: async ({ follow, write, press, sees }) => {
      await follow('Ledger')
      await follow('Movements')
      await write('Tenant', tenantId)
      await press('Show')
      await sees(/Account in USD[^]*opening balance[^]*INV-77/)
    },
  },
  {
    ask: 'Which months are closed, and what blocks the others?',
    answer: async ({ follow, sees }) => {
      await follow('Months')
      await sees(/blocked|ready/)
    },
  },
  {
    ask: 'How do I take the lines of last month away as a file?',
    answer: async ({ follow, choose, press, sees }, page) => {
      await follow('Ledger')
      await choose('Time', 'last_month')
      await press('Show')
      await page.waitForURL(/last_month/)
      await sees(/Download all of it/)
      const file = page.waitForEvent('download')
      await follow('CSV')
      t.match((await file).suggestedFilename(), /\.csv$/)
    },
  },
  {
    ask: 'Whose is a printed page, of what, in which zone?',
    answer: async ({ follow, sees }, page) => {
      await follow(tenantName)
      await sees(/Available/)
      await page.emulateMedia({ media: 'print' })
      t.match(await page.locator('.printed').innerText(), /tenant tenant_demo · times in UTC/)
      await page.emulateMedia({ media: 'screen' })
    },
  },
]

const ofSupport: readonly Question[] = [
  { ask: 'Where is my video?', answer: lifeOf(video, /Settled once/) },
  { ask: 'How long did it take?', answer: lifeOf(video, /took\s+[\d.]+ s/) },
  { ask: 'Is the result kept, and until when?', answer: lifeOf(video, /result\s+The provider/) },
  {
    ask: 'Is what I sent kept?',
    answer: lifeOf(video, /Prompts and media of requests are not kept/),
  },
  { ask: 'Whose request is it, and of which token?', answer: lifeOf(video, /user[^]*token/) },
  { ask: 'Was I charged twice?', answer: lifeOf(first.id, new RegExp(`${again.id}.*charged`)) },
  {
    ask: 'What do I answer the customer?',
    answer: async ({ find, unfold, sees }, page) => {
      await find(again.id)
      await sees(new RegExp(again.id))
      await unfold('Reply to the customer')
      t.match(await page.getByLabel('Reply', { exact: true }).inputValue(), /charged .* twice/)
    },
  },
  { ask: 'Do I pay for what failed?', answer: lifeOf(failed.id, /Not billed/) },
  {
    ask: 'Why was my request refused?',
    answer: async ({ follow, sees }) => {
      await follow('Failed')
      await follow(refused.request)
      await sees(/no such model|unknown_model/i)
    },
  },
  {
    ask: 'Why does my token not work any more?',
    answer: async ({ find, sees }) => {
      await find(gone.secret.slice(-4))
      await sees(/left the company/)
    },
  },
  {
    ask: 'What did this user do today?',
    answer: async ({ follow, write, press, sees }) => {
      await follow(tenantName)
      await follow('Activity')
      await write('User', userId)
      await press('Show')
      await sees(new RegExp(again.id))
    },
  },
  {
    ask: 'Which of its requests failed?',
    answer: async ({ follow, choose, press, sees }) => {
      await follow(tenantName)
      await follow('Activity')
      await choose('State', 'not_billed')
      await press('Show')
      await sees(new RegExp(failed.id), new RegExp(again.id))
    },
  },
  {
    ask: 'Which users, tokens, limits and budgets has the tenant?',
    answer: async ({ follow, sees }) => {
      await follow('Tenants')
      await follow(tenantName)
      await sees(/Users[^]*Tokens[^]*Limits[^]*Budgets/)
    },
  },
  {
    ask: 'Who changed something of the tenant, and why?',
    answer: async ({ follow, sees }) => {
      await follow('Changes')
      await sees(/token disabled[^]*left the company/)
    },
  },
  {
    ask: 'What was the state when the customer looked?',
    answer: async ({ find, follow, sees }) => {
      await find(video)
      await follow('One step back')
      await sees(/not yet/)
    },
  },
  {
    ask: 'Which model is slow or fails today?',
    answer: async ({ follow, sees }) => {
      await follow('Failed')
      await follow('Speed')
      await sees(/95 % within[^]*text-basic/)
    },
  },
]

const operations = (words: RegExp): Question['answer'] => {
  return async ({ follow, sees }) => {
    await follow('Operations')
    await sees(words)
  }
}
const ofOperator: readonly Question[] = [
  { ask: 'What needs me now?', answer: operations(/What needs you/) },
  {
    ask: 'Are the stores up, and does this process accept requests?',
    answer: operations(/accepts requests\s+yes[^]*up/),
  },
  {
    ask: 'Which channels accept calls, and which fail since when?',
    answer: operations(/sandbox-chat\s+accepts calls/),
  },
  {
    ask: 'What failed last at a channel?',
    answer: async ({ follow, sees }) => {
      await follow('Operations')
      await follow('sandbox-chat')
      await sees(new RegExp(`Last failures[^]*500[^]*${failed.id}`))
    },
  },
  {
    ask: 'How fast is each channel, and how often does it fail?',
    answer: async ({ follow, choose, press, sees }) => {
      await follow('Failed')
      await follow('Speed')
      await choose('By', 'channel')
      await press('Show')
      await sees(/sandbox-chat/)
    },
  },
  {
    ask: 'In which hour did it begin?',
    answer: async ({ follow, sees }) => {
      await follow('Failed')
      await follow('Speed')
      await sees(/By hour[^]*error rate/)
    },
  },
  { ask: 'Does a read model lag?', answer: operations(/Read models[^]*ledger[^]*follows the log/) },
  { ask: 'Which work waits in the background?', answer: operations(/Background work/) },
  { ask: 'Which processes work?', answer: operations(/Workers[^]*ago/) },
  {
    ask: 'Which submissions have no known outcome?',
    answer: operations(/Submissions without a known outcome/),
  },
  {
    ask: 'Is there a spool of a stopped process?',
    answer: operations(/Spools of stopped processes/),
  },
  { ask: 'When was the last audit, and was it clean?', answer: operations(/Last audit/) },
  {
    ask: 'Who is signed in?',
    answer: async ({ unfold, follow, sees }) => {
      await unfold('operator')
      await follow('Sessions')
      await sees(/Open now[^]*Demo admin token/)
    },
  },
]

/** A walk that counts what is done; to look is no step. */
function counted(walk: Walk): { readonly walk: Walk; readonly steps: () => number } {
  let steps = 0
  const step =
    <Arguments extends readonly unknown[]>(act: (...given: Arguments) => Promise<void>) =>
    (...given: Arguments) => {
      steps += 1
      return act(...given)
    }
  return {
    walk: {
      follow: step(walk.follow),
      press: step(walk.press),
      unfold: step(walk.unfold),
      write: step(walk.write),
      choose: step(walk.choose),
      find: step(walk.find),
      sees: walk.sees,
    },
    steps: () => steps,
  }
}

const hand = handNamed('with a mouse')

/** Answers questions one after the other; each line is what the documentation says of it. */
async function answered(page: Page, questions: readonly Question[]): Promise<readonly string[]> {
  const lines: string[] = []
  for (const { ask, answer } of questions) {
    await page.goto(`${url}/console`)
    const { walk, steps } = counted(walkOf(page, hand))
    await answer(walk, page).catch((cause: unknown) => {
      throw new Error(ask, { cause })
    })
    lines.push(`${ask} ${steps()}`)
  }
  return lines
}

async function signIn(page: Page, token: string, reason?: string): Promise<void> {
  const { write, press, sees } = walkOf(page, hand)
  await page.goto(`${url}/console`)
  await write('Token', token)
  await press('Sign in')
  await page.waitForSelector('.find')
  if (reason === undefined) return
  await page.goto(`${url}/console?tenant_id=${tenantId}`)
  await write('Reason', reason)
  await press('View tenant')
  await sees(/Available/)
}

/** The rows of a table of questions in the documentation. */
function documented(of: string): readonly string[] {
  const text = pageText('docs/console.md')
  const [, table = ''] =
    new RegExp(`^\\| ${of} +\\| Steps \\|\\n\\|[-| :]+\\n((?:\\|.*\\n)+)`, 'm').exec(text) ?? []
  return table
    .trim()
    .split('\n')
    .map((row) =>
      row
        .split('|')
        .slice(1, 3)
        .map((cell) => cell.trim())
        .join(' '),
    )
}

const roles: readonly (readonly [string, readonly Question[], () => Promise<string>])[] = [
  ['Questions of a controller', ofController, () => addController(stack, 'ann')],
  ['Questions of support', ofSupport, () => Promise.resolve(demo.adminToken)],
  ['Questions of an operator', ofOperator, () => Promise.resolve(demo.adminToken)],
]

for (const [title, questions, tokenOf] of atLength(roles.slice(0, 1), roles))
  t.test(title, { skip }, async (t) => {
    await withPage(async (page) => {
      const isFinance = questions === ofController
      await signIn(page, await tokenOf(), isFinance ? 'close of the month' : undefined)
      const lines = await answered(page, questions)
      t.same(documented(title), lines)
    }, hand.options)
  })
