import t from 'tap'
import { createBusyShare } from '../../src/platform/busy-share.ts'

t.test('the share is that of the last half second, and 1 until it is over', async (t) => {
  let nowMs = 0
  let time = { busyMs: 1_000, allMs: 9_000 }
  const share = createBusyShare({ nowMs: () => nowMs }, () => time)
  t.equal(share(), 1)
  nowMs = 499
  time = { busyMs: 1_100, allMs: 9_998 }
  t.equal(share(), 1)
  nowMs = 500
  time = { busyMs: 1_750, allMs: 10_000 }
  t.equal(share(), 0.75)
  nowMs = 900
  time = { busyMs: 1_750, allMs: 10_800 }
  t.equal(share(), 0.75, 'as long as the next one is not over')
  nowMs = 1_000
  time = { busyMs: 1_750, allMs: 11_000 }
  t.equal(share(), 0)
  nowMs = 1_500
  t.equal(share(), 0, 'also where the system counted no time')
})

t.test('the share of this machine is a share', async (t) => {
  let nowMs = 0
  const share = createBusyShare({ nowMs: () => nowMs })
  nowMs = 500
  const now = share()
  t.ok(now >= 0 && now <= 1, `${now}`)
})
