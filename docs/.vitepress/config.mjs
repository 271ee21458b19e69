// The site is made in VitePress's mode without an app: each page is HTML that needs no script, so that it opens from a
// file system, where browsers load no modules. docs/public/site.js adds search, the menu of narrow screens and the switch
// of the colour scheme. All links are relative.

import { rmSync } from 'node:fs'
import { join, posix } from 'node:path'
import { slug } from 'github-slugger'
import { defineConfig } from 'vitepress'
import { writeForModels } from './llms.mjs'
import { extend, repository } from './markdown.mjs'
import { flat, site } from './pages.mjs'
import { Search } from './search.mjs'

const { pages, home, sidebar } = site()
const search = new Search()

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

// relative makes links relative to the page, and those of folders links of their index.
const relative = (html, page) => html.replace(/(\s(?:href|src)=")([^"#]*\/)?([^"/#]*)/g, (match, start, path = '', name) => {
  if (/^[a-z]+:|^\/\//i.test(path + name)) return match
  const file = path && !name ? 'index.html' : name
  return start + (path.startsWith('/') ? posix.relative(posix.dirname('/' + page), path + file) : path + file)
})

export default defineConfig({
  title: 'zktorture',
  description: escape(home.sentence),
  lang: 'en',
  mpa: true,
  markdown: {
    anchor: { slugify: (text) => slug(text) }, // as GitHub does
    attrs: { disable: true }, // GitHub has none
    config: extend,
    headers: { level: [2, 3] },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  themeConfig: { repository, sidebar, order: ['index', ...sidebar.flatMap((group) => flat(group.items)).map((item) => item.link)] },
  head: [['link', { rel: 'icon', href: '/icon.svg' }], ['script', { src: '/site.js', defer: '' }]],
  transformPageData(data) {
    const page = pages.find(({ path }) => path + '.md' === data.relativePath)
    return { description: escape(data.description || page.sentence || home.sentence) } // VitePress does not
  },
  transformHtml(html, file, { page, pageData, content }) {
    if (page === '404.md') return
    search.add(page.replace(/\.md$/, '.html'), pageData.title, content)
    return relative(html.replace(/^ *<link [^>]*vp-icons.css.*\n/m, ''), page)
  },
  async buildEnd({ outDir }) {
    for (const name of ['404.html', 'hashmap.json', 'package.json', 'vp-icons.css']) rmSync(join(outDir, name)) // VitePress's app needs them
    await search.write(join(outDir, 'search.js'))
    writeForModels(outDir, home, pages, sidebar)
  },
})
