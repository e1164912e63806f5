import t from 'tap'
import { taskPoints } from './driver/lives.ts'
import { seedOfTests } from './driver/random.ts'
import { runFaults } from './driver/run.ts'
import { familyNames, taskFamily } from './driver/tasks/registry.ts'
import { freshDirectory } from './scene.ts'
import { builtProduct } from '../helpers/product.ts'

/** As few as let a gateway die at each named point of a task once, with some of its stores killed meanwhile. */
const KILLS = 30
/** As long as a file may take at all: it takes minutes where other things run beside it. */
const TIMEOUT_MS = 600_000
/** Less than this settled, and the run says little. */
const FEWEST_SETTLED = 20

t.setTimeout(TIMEOUT_MS)

t.test(
  'after thirty kills every success upstream is settled once, to the last digit',
  async (t) => {
    const seed = seedOfTests()
    t.comment(`replay with: npm run faults -- --kills ${KILLS} --seed ${seed} --tasks`)
    const report = await runFaults({
      build: await builtProduct(),
      directory: await freshDirectory(t),
      kills: KILLS,
      seed,
      // What calls, files and assets die at has scenes of its own; here they are in the traffic.
      among: taskPoints(),
      mostHits: 1,
      say: () => undefined,
    })
    const { seconds, figures, kills, killsInAll, differences, reached } = report
    t.comment(JSON.stringify({ seconds, ...figures, kills }))
    t.same(differences, [], `with the seed ${seed}`)
    t.ok(killsInAll >= KILLS, `${killsInAll} kills struck`)
    t.same(
      [...reached].sort(),
      [...taskPoints()].sort(),
      'a gateway died at every named point of a task’s life',
    )
    const settled = figures['settled'] ?? 0
    t.ok(settled >= FEWEST_SETTLED, `${settled} successes were settled`)
    // Of what nothing lists too many are lost for so short a run to promise one.
    for (const name of familyNames.filter((one) => taskFamily(one).lists !== 'none'))
      t.ok(figures[`settled of ${name}`], `of ${name} too`)
    t.ok((figures['adopted by reconciliation'] ?? 0) > 0, 'lost creations were found')
    t.ok((figures['assets active'] ?? 0) > 0, 'assets were kept beside it')
  },
)
