import t from 'tap'
import { MEASURED_MAJOR, measuredNode } from './measured-node.ts'

t.test('benchmarks run on the Node that production uses, or say why not', (t) => {
  const machine = { platform: 'plan9', arch: 'vax' }
  t.equal(measuredNode({ ...machine, version: `${MEASURED_MAJOR}.9.0` }), undefined)
  for (const version of ['20.19.0', '26.1.0', '240.1.0'])
    t.throws(() => measuredNode({ ...machine, version }), {
      message: new RegExp(`figures are of Node 24, this is ${version}, and for plan9 on vax none`),
    })
  t.end()
})
