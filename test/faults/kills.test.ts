import t from 'tap'
import { allPoints } from './driver/plan.ts'
import { runFaults } from './driver/run.ts'
import { freshDirectory } from './place.ts'
import { builtOnce } from './text/support/product.ts'

const KILLS = 30
/** It takes about a minute and a half on two cores that do nothing else. */
const TIMEOUT_MS = 480_000
/** Less than this settled, and the run says little. */
const FEWEST_SETTLED = 20

t.setTimeout(TIMEOUT_MS)

t.test(
  'after thirty kills every success upstream is settled once, to the last digit',
  async (t) => {
    const seed = process.env['FAULTS_SEED'] ?? String(Date.now() % 1_000_000_000)
    t.comment(`replay with: npm run faults -- --kills ${KILLS} --seed ${seed}`)
    const directory = await freshDirectory(t)
    const report = await runFaults({
      build: await builtOnce(),
      directory,
      kills: KILLS,
      seed,
      say: () => undefined,
    })
    t.comment(JSON.stringify({ seconds: report.seconds, ...report.figures, kills: report.kills }))
    t.same(report.differences, [], `with the seed ${seed}`)
    t.ok(report.killsInAll >= KILLS, `${report.killsInAll} kills struck`)
    t.same(
      report.reached,
      [...allPoints()].sort(),
      'a gateway died at every named point of a task’s life',
    )
    const settled = report.figures['settled'] ?? 0
    t.ok(settled >= FEWEST_SETTLED, `${settled} successes were settled`)
    t.ok((report.figures['adopted by reconciliation'] ?? 0) > 0, 'lost creations were found')
  },
)
