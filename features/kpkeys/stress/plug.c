// SPDX-License-Identifier: GPL-2.0
/*
 * Description: adds memory while it is loaded: 128 MB from 256 MB on, which exist but
 * which the command line hid.
 */
#include <linux/memory_hotplug.h>
#include <linux/module.h>
#include <linux/sizes.h>

#define PLUG_START SZ_256M
#define PLUG_SIZE  SZ_128M

static int __init plug_init(void)
{
	return add_memory_driver_managed(0, PLUG_START, PLUG_SIZE, "System RAM (plug)", MHP_NONE);
}

static void __exit plug_exit(void)
{
	WARN_ON(remove_memory(PLUG_START, PLUG_SIZE));
}

module_init(plug_init);
module_exit(plug_exit);
MODULE_DESCRIPTION("Adds and removes memory");
MODULE_LICENSE("GPL");
