import t from 'tap'
import { taskPoints } from './driver/lives.ts'
import { type Report, runFaults } from './driver/run.ts'
import { familyNames, taskFamily } from './driver/tasks/registry.ts'
import { freshDirectory } from './scene.ts'
import { builtProduct } from '../helpers/product.ts'

const KILLS = 30
/** Machines side by side: most of a life is to start, to wait out a lease, to prove an absence. */
const PARTS = 2
/** As long as a file may take at all: it takes minutes where other things run beside it. */
const TIMEOUT_MS = 600_000
/** Less than this settled, and the run says little. */
const FEWEST_SETTLED = 20

t.setTimeout(TIMEOUT_MS)

t.test(
  'after thirty kills every success upstream is settled once, to the last digit',
  async (t) => {
    const seed = process.env['FAULTS_SEED'] ?? String(Date.now() % 1_000_000_000)
    const kills = Math.ceil(KILLS / PARTS)
    const build = await builtProduct()
    const reports = await Promise.all(
      Array.from({ length: PARTS }, async (_none, index): Promise<Report> => {
        t.comment(
          `replay with: npm run faults -- --kills ${kills} --seed ${seed} --part ${index + 1}/${PARTS} --tasks`,
        )
        const directory = await freshDirectory(t)
        const part = { index, of: PARTS }
        // What calls, files and assets die at has scenes of its own; here they are in the traffic.
        const among = taskPoints()
        return runFaults({ build, directory, kills, seed, part, among, say: () => undefined })
      }),
    )
    const sum = (of: (report: Report) => number | undefined): number =>
      reports.reduce((total, report) => total + (of(report) ?? 0), 0)
    for (const { seconds, figures, kills: struck, differences } of reports) {
      t.comment(JSON.stringify({ seconds, ...figures, kills: struck }))
      t.same(differences, [], `with the seed ${seed}`)
    }
    const killsInAll = sum((report) => report.killsInAll)
    t.ok(killsInAll >= KILLS, `${killsInAll} kills struck`)
    t.same(
      [...new Set(reports.flatMap(({ reached }) => reached))].sort(),
      [...taskPoints()].sort(),
      'a gateway died at every named point of a task’s life',
    )
    const settled = sum(({ figures }) => figures['settled'])
    t.ok(settled >= FEWEST_SETTLED, `${settled} successes were settled`)
    // Of what nothing lists too many are lost for so short a run to promise one.
    for (const name of familyNames.filter((one) => taskFamily(one).lists !== 'none'))
      t.ok(
        sum(({ figures }) => figures[`settled of ${name}`]),
        `of ${name} too`,
      )
    t.ok(
      sum(({ figures }) => figures['adopted by reconciliation']) > 0,
      'lost creations were found',
    )
    t.ok(sum(({ figures }) => figures['assets active']) > 0, 'assets were kept beside it')
  },
)
