import t from 'tap'
import { isSameText, searchForm } from '../../src/kernel/characters.ts'

const ONE_POINT = 'Zo\u00eb'
const TWO_POINTS = 'Zoe\u0308'

t.test('a letter with an accent is the same as one point and as two', async (t) => {
  t.ok(isSameText(ONE_POINT, TWO_POINTS))
  t.notOk(isSameText(ONE_POINT, 'Zoe'))
  t.notOk(isSameText(ONE_POINT, ONE_POINT.toUpperCase()), 'a name in capitals is another one')
})

t.test(
  'searches compare letters of either case, and what stands for the same letters',
  async (t) => {
    for (const [one, other] of [
      [ONE_POINT, TWO_POINTS.toUpperCase()],
      ['Stra\u00dfe', 'STRASSE'],
      ['STRA\u1e9eE', 'strasse'],
      ['\u0130stanbul', 'istanbul'],
      ['\u0130STANBUL', 'Istanbul'],
      ['D\u0131yarbak\u0131r', 'DIYARBAKIR'],
      [
        '\u039f\u0394\u039f\u03a3',
        '\u03bf\u03b4\u03cc\u03c2'.normalize('NFD').replaceAll('\u0301', ''),
      ],
      ['\uff21\uff23\uff2d\uff25', 'acme'],
      ['\ufb01nance', 'Finance'],
    ] as const)
      t.equal(searchForm(one), searchForm(other), one)
    t.not(searchForm(ONE_POINT), searchForm('Zoe'), 'an accent counts')
    t.equal(searchForm(searchForm('\u0130\u1e9e')), searchForm('\u0130\u1e9e'))
  },
)
