import t from 'tap'
import { pointsToReach, taskPoints } from './driver/lives.ts'
import { dice, seedOfTests } from './driver/random.ts'
import { runFaults } from './driver/run.ts'
import { familyNames, taskFamily } from './driver/tasks/registry.ts'
import { freshDirectory } from './scene.ts'
import { atLength } from '../helpers/long-run.ts'
import { builtProduct } from '../helpers/product.ts'

/** As few as let a gateway die at each of its points once, with some of its stores killed meanwhile. */
const KILLS = atLength(6, 30)
/** As long as a file may take at all: it takes minutes where other things run beside it. */
const TIMEOUT_MS = 1_200_000
/** Less than this settled, and the run says little. */
const FEWEST_SETTLED = atLength(5, 20)
/** With so many each family had its share, and with fewer the library. */
const ENOUGH_OF_EACH = 30
const ENOUGH_OF_LIBRARY = 15

/** In short, a tenth of them, by the seed: `test/app/tasks/crash.test.ts` dies at the others every time. */
const SHARE = atLength(0.1, 1)
/** No other test dies here. */
const ALWAYS = 'reconcile.before-adopt'

t.setTimeout(TIMEOUT_MS)

/** Those of a task's life that this run dies at. */
function pointsOf(seed: string) {
  const all = taskPoints()
  const chosen = dice(`points ${seed}`).shuffled(pointsToReach(all))
  const first = chosen.slice(0, Math.ceil(chosen.length * SHARE))
  const left = new Set(chosen.filter((name) => name !== ALWAYS && !first.includes(name)))
  return all.filter((name) => !left.has(name))
}

t.test('after the kills every success upstream is settled once, to the last digit', async (t) => {
  const seed = seedOfTests()
  t.comment(`${KILLS} kills, FAULTS_SEED=${seed}`)
  const among = pointsOf(seed)
  const report = await runFaults({
    build: await builtProduct(),
    directory: await freshDirectory(t),
    kills: KILLS,
    seed,
    // What calls, files and assets die at has scenes of its own; here they are in the traffic.
    among,
    mostHits: 1,
    say: () => undefined,
  })
  const { seconds, figures, kills, killsInAll, differences, reached } = report
  t.comment(JSON.stringify({ seconds, ...figures, kills }))
  t.same(differences, [], `with the seed ${seed}`)
  t.ok(killsInAll >= KILLS, `${killsInAll} kills struck`)
  t.same([...reached].sort(), [...among].sort(), 'a gateway died at each point of a task’s life')
  const settled = figures['settled'] ?? 0
  t.ok(settled >= FEWEST_SETTLED, `${settled} successes were settled`)
  // Of what nothing lists too many are lost for so short a run to promise one.
  const listed = familyNames.filter((one) => taskFamily(one).lists !== 'none')
  // Nor does a run on a machine so slow that it makes few tasks at all.
  if (settled >= ENOUGH_OF_EACH)
    for (const name of listed) t.ok(figures[`settled of ${name}`], `of ${name} too`)
  t.ok((figures['adopted by reconciliation'] ?? 0) > 0, 'lost creations were found')
  if (settled >= ENOUGH_OF_LIBRARY)
    t.ok((figures['assets active'] ?? 0) > 0, 'assets were kept beside it')
})
