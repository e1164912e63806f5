import t from 'tap'
import { createEntryCodes } from '../../../src/console/session/entry-codes.ts'

t.test('a code gives its secret once, within five minutes', (t) => {
  let nowMs = 0
  const codes = createEntryCodes({ nowMs: () => nowMs })
  t.equal(codes.use('anything'), undefined, 'before there is one')
  const code = codes.make('adm-secret')
  t.match(code, /^tce-[\w-]{43}$/)
  t.equal(codes.use(`${code}x`), undefined)
  t.equal(codes.use(''), undefined)
  t.equal(codes.use(code), 'adm-secret', 'a wrong try uses nothing up')
  t.equal(codes.use(code), undefined, 'a second time')
  const late = codes.make('adm-secret')
  nowMs += 5 * 60_000
  t.equal(codes.use(late), undefined, 'five minutes later')
  const replaced = codes.make('one')
  const current = codes.make('other')
  t.equal(codes.use(replaced), undefined, 'a later one replaces it')
  t.equal(codes.use(current), 'other')
  t.end()
})
