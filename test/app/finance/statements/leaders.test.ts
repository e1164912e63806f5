import t from 'tap'
import { startPretendedCluster } from '../../../helpers/cluster.ts'
import { shell, startClosingWorld } from './support/closing-world.ts'
import { createFaultyCloses } from './support/faulty-closes.ts'

/** Closes on a cluster whose leader changes after the signature. */

const cluster = await startPretendedCluster()
const world = await startClosingWorld(t, cluster)
const { opened, closedAtLast, checkClose } = createFaultyCloses(t, world)
let leader = 0

async function depose(how: 'lead' | 'error' | 'connection'): Promise<void> {
  leader = (leader + 1) % cluster.ports.length
  if (how === 'lead') await cluster.lead(leader)
  else await cluster.depose(leader, how)
}

for (const how of ['lead', 'error', 'connection'] as const)
  for (const moment of ['before', 'amid'] as const)
    t.test(`one close stands where the leader goes by ${how} ${moment} its append`, async (t) => {
      const of = await opened(`tenant_${how}_${moment}`)
      await world.settle()
      let appends = 0
      const append: typeof world.log.append = async (stream, events, expected, options) => {
        appends += 1
        if (appends > 1) return world.log.append(stream, events, expected, options)
        if (moment === 'before') await depose(how)
        const [appended] = await Promise.allSettled([
          world.log.append(stream, events, expected, options),
          moment === 'amid' ? depose(how) : undefined,
        ])
        if (appended.status === 'rejected') throw appended.reason
        return appended.value
      }
      const period = await closedAtLast({ ...world.log, append }, of)
      t.ok(appends > 0, 'the closer appended')
      await checkClose(t, period)
      t.same(await world.statements.close(of, shell), { period, created: false })
    })

t.test('one close stands where the next leader has committed it and never answers', async (t) => {
  const of = await opened('tenant_no_answer')
  await world.settle()
  const append: typeof world.log.append = async (...order) => {
    await cluster.loseAnswers()
    try {
      return await world.log.append(...order)
    } finally {
      await depose('connection')
      await cluster.setFault('')
    }
  }
  const asked = await world
    .statementsWith({ log: { ...world.log, append } })
    .close(of, shell)
    .catch((error: unknown) => error)
  t.comment(asked instanceof Error ? asked.message : 'answered')
  await checkClose(t, await closedAtLast(world.log, of))
})
