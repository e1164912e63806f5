import t from 'tap'
import { resolveVideoAModel, videoAModels } from '../../../../src/families/video-a/rules/models.ts'

t.test('the ten external names, in their order', async (t) => {
  t.strictSame(
    videoAModels.map((model) => [
      model.name,
      model.aliases.join(),
      model.resolutions.join(),
      model.skuBase,
      model.tier,
    ]),
    [
      [
        'domestic-video-2-0',
        'domestic-video-2-0-260128',
        '480p,720p,1080p,4k',
        'domestic-video-2-0',
        'standard',
      ],
      [
        'domestic-video-2-0-fast',
        'domestic-video-2-0-fast-260128',
        '480p,720p',
        'domestic-video-2-0',
        'fast',
      ],
      [
        'domestic-video-2-0-mini',
        'domestic-video-2-0-mini-260615',
        '480p,720p',
        'domestic-video-2-0',
        'mini',
      ],
      [
        'overseas-video-2-0',
        'overseas-video-2-0-260128',
        '480p,720p,1080p,4k',
        'overseas-video-2-0',
        'standard',
      ],
      [
        'overseas-video-2-0-fast',
        'overseas-video-2-0-fast-260128',
        '480p,720p',
        'overseas-video-2-0',
        'fast',
      ],
      [
        'overseas-video-2-0-mini',
        'overseas-video-2-0-mini-260615',
        '480p,720p',
        'overseas-video-2-0',
        'mini',
      ],
      ['overseas-video-2-0-filter-off', '', '480p,720p,1080p,4k', 'overseas-video-2-0', 'standard'],
      ['overseas-video-2-0-fast-filter-off', '', '480p,720p', 'overseas-video-2-0', 'fast'],
      [
        'domestic-video-2-5',
        'domestic-video-2-5-260628',
        '480p,720p',
        'domestic-video-2-5',
        'standard',
      ],
      [
        'overseas-video-2-5',
        'overseas-video-2-5-260628',
        '480p,720p',
        'overseas-video-2-5',
        'standard',
      ],
    ],
  )
})

t.test('a name and its version alias resolve to the same model', async (t) => {
  for (const model of videoAModels)
    for (const name of [model.name, ...model.aliases])
      t.equal(resolveVideoAModel(name), model, name)
})

t.test('short ids, dotted forms and made-up filter-off names are unknown', async (t) => {
  const unknown = [
    'video-2-0',
    'video-2-0-260128',
    'video-2-0-fast',
    'video-2-0-fast-260128',
    'video-2-0-mini',
    'overseas-video-2.0-mini',
    'overseas-video-2-0-filter-off-260128',
    'overseas-video-2-0-260128-filter-off',
    'overseas-video-2-0-fast-filter-off-260128',
    'overseas-video-2-0-fast-260128-filter-off',
    'overseas-video-2-0-mini-filter-off',
    'domestic-video-2-0-filter-off',
    'domestic-video-2-0-mini-260128',
    'overseas-video-2-5-260128',
    'Overseas-Video-2-5',
    ' overseas-video-2-5',
    'overseas-video-2-5 ',
    '',
    '__proto__',
    'constructor',
  ]
  for (const name of unknown) t.equal(resolveVideoAModel(name), undefined, name)
})
